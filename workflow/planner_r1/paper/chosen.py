"""What of a study's validations is shown where not all can be: one regime a model, and three steps of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from planner_r1.reward import weights_of
from planner_r1.study import Study

EARLY = 0.1  # of a run


def trained(study: Study) -> list[str]:
    """The models that have runs."""
    return [model for model in study.models if study.regimes_of(model)]


def shown_regime(study: Study, model: str) -> str:
    """The regime of a trained model that is shown where only one is: the first under a dense reward (one that pays for
    single constraints in every phase, as the paper's stage 1 does), or else the first of all."""
    regimes = study.regimes_of(model)
    return next((regime for regime in regimes if _dense(study, model, regime)), regimes[0])


def _dense(study: Study, model: str, regime: str) -> bool:
    run = study.run(model, regime, study.seeds_of(regime)[0])
    return all(weights_of(phase.weights)[0] for phase in run.phases)


def chosen_steps(validated: Iterable[int], last: int) -> list[int]:
    """The steps that are shown of a run, ascending: the first one validated (0 is the model before training by
    reward), an early one (of those between, the nearest to 10% of the run, the earlier of two as near), and the last
    one validated. Fewer where fewer were validated.

    Args:
        last: steps of the whole run
    """
    steps = sorted(set(validated))
    between = steps[1:-1]
    early = [min(between, key=lambda step: (abs(step - EARLY * last), step))] if between else []
    return sorted({*steps[:1], *early, *steps[-1:]})


def step_title(step: int) -> str:
    return "step 0 (base)" if step == 0 else f"step {step:,}"


def shown_seeds(rows: Iterable[Mapping[str, str]]) -> set[int]:
    """The seeds that rows of a CSV name, apart by blanks, in their column `seeds`."""
    return {int(seed) for row in rows for seed in row["seeds"].split()}


def last_validation(rows: Iterable[Mapping[str, str]]) -> str:
    """At which step the rows of a CSV are, where each model and regime has one: the latest, and which differ."""
    steps = {(row["model"], row["regime"]): int(row["step"]) for row in rows}
    if not steps:
        return "last validation"
    latest = max(steps.values())
    others = [f", of {model}/{regime} step {step}" for (model, regime), step in steps.items() if step != latest]
    return f"last validation that all seeds of a regime have: step {latest}{''.join(others)}"


def heading(study: Study) -> str:
    """The world and the regimes that are shown."""
    of_model = {model: shown_regime(study, model) for model in trained(study)}
    regimes = dict.fromkeys(of_model.values())
    under = next(iter(regimes), "none") if len(regimes) < 2 else ", ".join(f"{r} ({m})" for m, r in of_model.items())
    return f"{study.world_label}; regime {under}"


def note(study: Study, seeds: Mapping[str, Collection[int]], *more: str) -> str:
    """What a reader of such a figure must know: the world, the regimes, the seeds, and what is missing.

    Args:
        seeds: those that are shown, by model
        more: further remarks, a line each
    """
    counts = sorted({len(found) for found in seeds.values() if found}) or [0]
    span = str(counts[0]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    lines = [f"{heading(study)}; {span} seed{'' if counts == [1] else 's'}", *more]
    shown = {(model, shown_regime(study, model)): seeds.get(model, ()) for model in trained(study)}
    return "\n".join(lines + missing(study, shown))


def missing(study: Study, seeds: Mapping[tuple[str, str], Collection[int]]) -> list[str]:
    """The seeds that are not there, a line a model and regime.

    Args:
        seeds: those that are, by (model, regime)
    """
    absent = {place: [seed for seed in study.seeds_of(place[1]) if seed not in own] for place, own in seeds.items()}
    return [f"missing: {m}/{r}, seed {', '.join(map(str, lack))}" for (m, r), lack in absent.items() if lack]
