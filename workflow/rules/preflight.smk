# Before the first job of a model on GPUs: that it can run. To check again, give the command by hand, which touches
# nothing: `planner-r1 preflight --study FILE --profile NAME`. `--forcerun preflight` would train again what is finished.
import argparse
import json
import shlex


def preflight_options():
    """The study and the profile as the command takes them; the keys themselves where some were given by `--config`."""
    files, given = workflow.configfiles, workflow.config_settings.config
    whole = str(files[0]) if len(files) == 1 and not given else json.dumps(study.config)
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--profile", default=os.environ.get("SNAKEMAKE_PROFILE"))
    profile = parser.parse_known_args()[0].profile
    return shlex.join(["--study", whole, *(["--profile", profile] if profile else [])])


PREFLIGHT_OPTIONS = preflight_options()


# The command stands here and in no script, and what it writes is always the same: an edited check is no reason to train
# a finished study again.
rule preflight:
    input:
        "<results>/models/{model}/MANIFEST.json",
    output:
        "<results>/preflight/{model}.txt",
    log:
        "<logs>/preflight/{model}.log",
    shell:
        "{sys.executable} -m planner_r1 preflight --model {wildcards.model} {PREFLIGHT_OPTIONS}"
        " 2>&1 | tee {log} && echo passed > {output}"


localrules:
    preflight,
