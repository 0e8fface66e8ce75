"""Every table and figure of the paper by name: what it shows, what it reads, and which modules draw it.

To add one, write its module in `tables/` or `figures/`, name it here, and put its caption in `workflow/report/`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from planner_r1.paper.results import KINDS, table_file
from planner_r1.study import Study

TABLE, FIGURE, DOCUMENT = "table", "figure", "document"
TABLE_OF = "table:"  # before the name of a table that is read
PAPER = Path(__file__).resolve().parent
PACKAGE = "planner_r1.paper"
PRINTED = ("reference.py", "flops.py")  # modules that read the files of reference/
CASES = 5  # case studies of the paper
ENDINGS = {
    TABLE: {"csv": "csv", "markdown": "md", "latex": "tex"},
    FIGURE: {"csv": "csv", "pdf": "pdf", "png": "png"},
    DOCUMENT: {"csv": "csv", "markdown": "md"},
}


@dataclass(frozen=True)
class Artefact:
    """A table, a figure, or a document: numbers and a page at the top of results/<study>.

    name: of its rule and its files
    kind: "table", "figure" or "document"
    title: what it shows, in a few words
    reads: kinds of results (results.KINDS), and tables as `table:<name>`
    module: of `tables/` or `figures/`, of a document of `paper/` itself; the artefact's name where it is not given
    options: what `rows` is called with beside the study and its results
    may_read: kinds that it reads as well, where the study has them
    made_for: whether it says anything of a study that has all it reads
    """

    name: str
    kind: str
    title: str
    reads: tuple[str, ...]
    module: str = ""
    options: Mapping = field(default_factory=dict)
    may_read: tuple[str, ...] = ()
    made_for: Callable[[Study], bool] = lambda study: True

    @property
    def drawn_by(self) -> str:
        """The module's name."""
        return self.module or self.name

    @property
    def folder(self) -> str:
        """Where its module lies below `paper/`, and its files below results/<study>."""
        return "" if self.kind == DOCUMENT else f"{self.kind}s/"

    @property
    def import_name(self) -> str:
        return f"{PACKAGE}.{self.folder.replace('/', '.')}{self.drawn_by}"

    @property
    def csv(self) -> str:
        """The file of its numbers, below results/<study>."""
        return self.outputs["csv"]

    @property
    def outputs(self) -> dict[str, str]:
        """All its files by what they are, below results/<study>."""
        return {what: f"{self.folder}{self.name}.{ending}" for what, ending in ENDINGS[self.kind].items()}

    def inputs(self, study: Study) -> list[str]:
        """The files it is made of, below results/<study>."""
        return [file for kind in (*self.reads, *self.may_read) for file in files_of(study, kind)]

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables it reads."""
        return tuple(kind.removeprefix(TABLE_OF) for kind in (*self.reads, *self.may_read) if kind.startswith(TABLE_OF))

    def modules(self) -> list[Path]:
        """The modules and reference files of the paper's package that it is made by: an edit of one makes it anew."""
        return [PAPER / "make.py", *imported(PAPER / f"{self.folder}{self.drawn_by}.py")]


def _train_sizes_differ(study: Study) -> bool:
    return len({study.train_queries(regime) for regime in study.regimes}) > 1


def _is_noisy(study: Study) -> bool:
    """Whether anything is evaluated under noise."""
    return study.splits != study.clean_splits


def _compares_regimes(study: Study) -> bool:
    """Whether some model is trained under two regimes or more."""
    return any(len(study.regimes_of(model)) > 1 for model in study.models)


ARTEFACTS = (
    Artefact("table1", TABLE, "Table 1: TravelPlanner", ("rates",)),
    Artefact("table2", TABLE, "Table 2: out-of-domain suites", ("suites",)),
    Artefact("decoding", TABLE, "Decoding settings and limits", ("manifests",), may_read=("asked",)),
    Artefact("lengths", TABLE, "Turns and tokens of an episode", ("validations",)),
    Artefact(
        "noise",
        TABLE,
        "Final pass under noisy tools",
        ("scores", "trajectories"),
        may_read=("manifests",),
        made_for=_is_noisy,
    ),
    Artefact("memory", TABLE, "Memory by share of the rollout engine", ("probes",)),
    Artefact(
        "headline",
        TABLE,
        "Headline figures",
        ("validations", "metrics", "manifests", "models", "queries", "table:table1"),
    ),
    Artefact(
        "differences",
        TABLE,
        "Regimes compared at equal steps and equal tokens",
        ("validations", "metrics", "manifests"),
        made_for=_compares_regimes,
    ),
    Artefact("figure1", FIGURE, "Figure 1: final pass of all models", ("rates", "table:table1")),
    Artefact("figure3_left", FIGURE, "Figure 3, left: final pass against steps", ("validations", "models")),
    Artefact(
        "figure3_right",
        FIGURE,
        "Figure 3, right: final pass against FLOPs",
        ("validations", "metrics", "manifests", "models"),
    ),
    Artefact(
        "equal_budgets",
        FIGURE,
        "Regimes compared: final pass against steps and tokens",
        ("validations", "metrics", "manifests"),
        made_for=_compares_regimes,
    ),
    Artefact("sub_rewards", FIGURE, "The six sub-rewards against steps", ("validations",)),
    Artefact("profiles", FIGURE, "Final pass under either profile against steps", ("validations",)),
    Artefact("figure4", FIGURE, "Figure 4: kinds of failure against steps", ("validations",)),
    Artefact("error_heatmap", FIGURE, "The most frequent failures of each step", ("validations",)),
    Artefact("transitions", FIGURE, "What follows what among tool calls", ("validations",)),
    Artefact("tool_sequence", FIGURE, "Tool calls by turn", ("validations",)),
    Artefact("lengths_over_steps", FIGURE, "Turns and tokens of an episode against steps", ("validations",)),
    Artefact("success_by_length", FIGURE, "Final pass given the length of an episode", ("validations",)),
    Artefact(
        "train_sizes",
        FIGURE,
        "Final pass against the number of training queries",
        ("validations", "queries"),
        made_for=_train_sizes_differ,
    ),
    Artefact("noise_effect", FIGURE, "Final pass with sound and with noisy tools", ("table:noise",)),
    Artefact("timelines", FIGURE, "One query's tool calls along training", ("validations",)),
    *(
        Artefact(
            f"case_study{case}",
            FIGURE,
            f"Case study {case}",
            ("scores", "trajectories", "queries"),
            module="case_study",
            options={"case": case},
        )
        for case in range(1, CASES + 1)
    ),
    Artefact(
        "reproduction",
        DOCUMENT,
        "What reproduces",
        ("table:table1",),
        may_read=(
            *("table:table2", "table:headline", "queries", "scores", "suites"),
            *("validations", "models", "metrics", "manifests"),
        ),
    ),
)


def artefact(name: str) -> Artefact:
    """The artefact of a name; KeyError where there is none."""
    return {known.name: known for known in ARTEFACTS}[name]


def artefacts_of(study: Study) -> list[Artefact]:
    """Those that are made for a study and that it has files for of every kind they read; of a study of memory its table
    alone."""
    if study.probes:
        return [artefact("memory")]
    return [known for known in ARTEFACTS if _can_be_made(known, study)]


def _can_be_made(one: Artefact, study: Study) -> bool:
    return one.made_for(study) and all(files_of(study, kind) for kind in one.reads)


def artefact_files(artefacts: Collection[Artefact], kind: str | None = None) -> list[str]:
    """All files of artefacts, or of those of a kind, below results/<study>."""
    return [file for one in artefacts if kind in (None, one.kind) for file in one.outputs.values()]


def with_tables(wanted: Collection[Artefact], study: Study) -> list[Artefact]:
    """Artefacts of a study with the tables that they read, these first."""
    found: dict[str, Artefact] = {}

    def add(one: Artefact) -> None:
        for table in artefacts_of(study):
            if table.name in one.tables:
                add(table)
        found.setdefault(one.name, one)

    for one in wanted:
        add(one)
    return list(found.values())


def files_of(study: Study, kind: str) -> list[str]:
    """The files of a kind of results, or of a table named as `table:<name>`, below results/<study>."""
    _, is_table, name = kind.partition(TABLE_OF)
    if not is_table:
        return KINDS[kind](study)
    return [table_file(name)] if _can_be_made(artefact(name), study) else []


@cache
def imported(path: Path) -> list[Path]:
    """A module of the paper's package with those it imports of this package, directly or not, and, where the paper's
    numbers are among them, the files of these."""
    found: set[Path] = set()
    _gather(path, found)
    if any(path.name in PRINTED for path in found):
        found |= {*(PAPER / "reference").iterdir()}
    return sorted(found)


def _gather(path: Path, found: set[Path]) -> None:
    if path in found:
        return
    found.add(path)
    for name in _imports(path):
        module = PAPER.joinpath(*name.split(".")).with_suffix(".py")
        if module.is_file():
            _gather(module, found)


@cache
def _imports(path: Path) -> tuple[str, ...]:
    """Names below planner_r1.paper that a module may import; `from package import name` may mean either."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found += (name.removeprefix(f"{PACKAGE}.") for name in names if name.startswith(f"{PACKAGE}."))
    return tuple(found)
