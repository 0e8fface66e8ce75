"""Take one file out of a downloaded archive."""

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.downloads.sources import load_catalogue
    from planner_r1.downloads.unpack import unpack

    member = load_catalogue().members[snakemake.output[0]]
    unpack(member.archive.path, member.name, member.path, member.bytes)
