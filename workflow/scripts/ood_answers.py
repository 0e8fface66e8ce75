"""Put the suites to a checkpoint or a service; an interrupted one asks for what is missing."""

import hashlib
from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.endpoint.client import Endpoint
    from planner_r1.ood.answers import AnswersSpec, Asked, Server, collect_answers
    from planner_r1.study import SCRIPTED_USER, Study

    params, wildcards, study = snakemake.params, snakemake.wildcards, Study.from_config(snakemake.config)
    settings, suites, out = params.settings, {}, Path(snakemake.output.asked).parent
    for suite, keys in settings["suites"].items():
        user = keys["user"] or SCRIPTED_USER
        user = None if user == SCRIPTED_USER else Endpoint(name=f"suites.{suite}.user", **user)
        suites[suite] = Asked(Path(params.folders[suite]), keys["items"], keys["decoding"], user)
    if settings["endpoint"]:
        model, origin = Endpoint(name=f"models.{wildcards.model}.endpoint", **settings["endpoint"]), ""
    else:
        manifest = Path(snakemake.input.manifest)
        origin = hashlib.sha256(manifest.read_bytes()).hexdigest()
        is_base = wildcards.regime == "base"
        model = manifest.parent if is_base else manifest.parent / "checkpoints" / f"step{wildcards.step}"
    # no parameters of the rule: another environment or server is no reason to ask again
    server = Server(**{**study.suite_server, "backend": params.backend, "environment": study.environment})
    name = f"{wildcards.model}/{wildcards.regime}/seed{wildcards.seed}/step{wildcards.step}"
    repeats, seed = settings["repeats"], settings["seed"]
    collect_answers(AnswersSpec(name, model, suites, Path(params.work), out, origin, repeats, seed, server))
