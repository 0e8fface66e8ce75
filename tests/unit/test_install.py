"""`make install`: uv is told what pip is told, and pip takes over where uv cannot."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ENVS = Path(__file__).resolve().parents[2] / "envs"


@pytest.fixture
def module(monkeypatch):
    """Loads a module of envs/, which is no package."""
    monkeypatch.syspath_prepend(str(ENVS))
    for name in ("install", "install_engine", "pip_settings"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module


def test_uv_is_given_pips_places_and_certificate(module, monkeypatch, tmp_path):
    config = tmp_path / "pip.conf"
    config.write_text(
        "[global]\nindex-url = https://mirror.example/index\nextra-index-url =\n  https://a.example\n  https://b.example\n"
        "timeout = 7\n[install]\ntrusted-host = mirror.example\ntimeout = 8\n",
        encoding="utf-8",
    )
    for name, value in {"CONFIG_FILE": config, "FIND_LINKS": "/wheels /more", "CERT": "/ca.pem"}.items():
        monkeypatch.setenv(f"PIP_{name}", str(value))
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)
    pip = module("pip_settings")
    variables = pip.uv_variables(pip.pip_settings())
    assert variables["UV_DEFAULT_INDEX"] == "https://mirror.example/index"
    assert variables["UV_INDEX"] == "https://a.example https://b.example"
    assert variables["UV_FIND_LINKS"] == "/wheels,/more"
    assert variables["UV_INSECURE_HOST"] == "mirror.example"
    assert (variables["SSL_CERT_FILE"], variables["UV_HTTP_TIMEOUT"]) == ("/ca.pem", "8")


@pytest.fixture
def installed(module, monkeypatch):
    """Runs the installation without its commands; those that name a word of `broken` fail. Returns what was run."""

    def run(*arguments, torch="2.13.0+cpu", broken=(), settings=None):
        install, done = module("install"), []

        def pretend(command, **_):
            command = list(map(str, command))
            what = command[-2]
            if what == "--requirement":
                file = Path(command[-1])
                what = file.name if file.parent == ENVS else file.read_text(encoding="utf-8").partition(" ")[0]
            done.append((command[2], what, command))
            if any(word in command for word in broken):
                raise subprocess.CalledProcessError(2, command)

        monkeypatch.setattr(install.subprocess, "run", pretend)
        monkeypatch.setattr(install, "version", lambda name: torch)
        monkeypatch.setattr(install, "pip_settings", lambda: settings or {})
        install.main(*arguments)
        return done

    return run


def steps(done):
    """Who installed what."""
    return [(tool, what) for tool, what, _ in done]


def test_uv_installs_the_lock_after_the_build_of_torch_that_it_would_refuse(installed):
    done = installed(settings={"find-links": "/wheels"})
    pinned = [line for line in (ENVS / "cpu.txt").read_text(encoding="utf-8").split("\n") if line.startswith("uv==")]
    uv = pinned[0].partition(" ")[0]
    assert steps(done) == [("pip", uv), ("uv", "torch==2.13.0+cpu"), ("uv", "cpu.txt"), ("uv", "--editable")]
    assert all("--require-hashes" in command for *_, command in done[:-1])
    assert not any("--torch-backend" in command for *_, command in done)  # the wheels are where pip looks


def test_without_places_of_its_own_pip_would_take_cuda_so_uv_looks_elsewhere_first(installed):
    assert "--torch-backend" in installed()[1][-1]
    done = installed(torch="2.13.0", broken=["--torch-backend"])
    assert ("uv", "cpu-cuda.txt") in steps(done)


def test_pip_installs_everything_where_uv_fails_or_is_not_wanted(installed, capsys):
    done = installed(broken=["uv"])
    assert steps(done)[-2:] == [("pip", "cpu.txt"), ("pip", "--editable")]
    assert "pip" in capsys.readouterr().err.splitlines()[-1]
    assert steps(installed("pip")) == [("pip", "cpu.txt"), ("pip", "--editable")]


def test_the_engine_is_installed_before_it_can_see_the_other_environment(module, monkeypatch, tmp_path):
    """Else an installer would replace packages there."""
    engine, seen = module("install_engine"), []
    sees = "import importlib.util; print(importlib.util.find_spec('numpy') is not None)"

    def uv_into(python):
        def install(*options):
            seen.append(subprocess.run([python, "-c", sees], capture_output=True, text=True, check=True).stdout.strip())
            assert "--require-hashes" in options and "--no-deps" in options

        return install

    monkeypatch.setattr(engine, "uv_into", uv_into)
    engine.main(str(tmp_path / "engine"))
    python = tmp_path / "engine" / "bin" / "python"
    after = "import os, numpy, torchvision.io as io; print(os.environ['SGLANG_USE_CPU_ENGINE'], io.decode_jpeg)"
    done = subprocess.run([python, "-c", after], capture_output=True, text=True, check=True)
    assert seen == ["False"] and done.stdout.startswith("1 <module 'torchvision.io.decode_jpeg'")
