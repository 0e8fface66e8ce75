"""Members of archives: what is taken out, and what hostile or damaged archives cannot do."""

import os
import stat
import warnings
import zipfile

import pytest

from planner_r1.downloads.unpack import unpack
from planner_r1.errors import InputError

NAME = "database/flights.csv"
BODY = b"price\n" + b"100\n" * 1000


def archive(tmp_path, *entries):
    path = tmp_path / "all.zip"
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        warnings.simplefilter("ignore")  # names that come twice
        for name, body in entries:
            file.writestr(name, body)
    return path


def refused(tmp_path, path, message, **options):
    with pytest.raises(InputError, match=message):
        unpack(path, NAME, tmp_path / "out" / "flights.csv", **options)
    assert os.listdir(tmp_path / "out") == []


def test_the_named_member_comes_out_and_nothing_else(tmp_path):
    path = archive(tmp_path, ("../evil", b"x"), ("/etc/evil", b"x"), ("__MACOSX/a", b"x"), (NAME, BODY))
    target = tmp_path / "data" / "elsewhere" / "flights.csv"
    unpack(path, NAME, target, len(BODY))
    assert target.read_bytes() == BODY
    files = [file.relative_to(tmp_path) for file in tmp_path.rglob("*") if file.is_file()]
    assert sorted(map(str, files)) == ["all.zip", "data/elsewhere/flights.csv"]


def test_a_link_in_place_of_the_file_is_refused(tmp_path):
    link = zipfile.ZipInfo(NAME)
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    refused(tmp_path, archive(tmp_path, (link, b"/etc/passwd")), "is a link")


def test_a_member_that_is_there_twice_or_not_at_all_is_refused(tmp_path):
    refused(tmp_path, archive(tmp_path, (NAME, BODY), (NAME, b"other")), "found 2 times")
    refused(tmp_path, archive(tmp_path, ("flights.csv", BODY)), "found 0 times")


def test_a_member_of_another_size_is_refused(tmp_path):
    path = archive(tmp_path, (NAME, BODY))
    refused(tmp_path, path, "is larger than the 10 bytes expected", expected_bytes=10)
    refused(tmp_path, path, f"has {len(BODY):,} bytes, 1,000,000 expected", expected_bytes=1_000_000)


def test_a_member_that_grows_beyond_all_bounds_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("planner_r1.downloads.unpack.LARGEST", 2 << 20)
    refused(tmp_path, archive(tmp_path, (NAME, bytes(4 << 20))), "is larger than the 2,097,152 bytes expected")


def test_a_damaged_archive_is_named(tmp_path):
    whole = archive(tmp_path, (NAME, os.urandom(5000))).read_bytes()
    flipped = tmp_path / "flipped.zip"
    flipped.write_bytes(whole[:2000] + bytes([whole[2000] ^ 1]) + whole[2001:])
    refused(tmp_path, flipped, r"flipped.zip, member database/flights.csv: cannot be unpacked .*CRC")
    cut = tmp_path / "cut.zip"
    cut.write_bytes(whole[:3000])
    refused(tmp_path, cut, r"cut.zip, member database/flights.csv: cannot be unpacked")
    refused(tmp_path, tmp_path / "none.zip", "none.zip: no such archive")
