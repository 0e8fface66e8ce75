"""The notebook of the report run, and the page made of it: one HTML file.

The kernel is this very Python; it is declared in a temporary folder, and so is everything else that Jupyter and IPython
keep, so that nothing is read from or written to anybody's home and two reports can be made at once.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planner_r1.checkout import ROOT
from planner_r1.errors import InputError
from planner_r1.paper.forms import check_files
from planner_r1.paper.report.inputs import reads
from planner_r1.study import Study

NOTEBOOKS = ROOT / "workflow" / "notebooks"
KERNEL = "planner-r1-report"
FOLDERS = {
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "run",
    "JUPYTER_CONFIG_DIR": "config",
    "IPYTHONDIR": "ipython",
}
LONGEST = 50  # characters of a folder for sockets: their paths, "/run/kernel-<36 characters>-ipc-1" longer, end at 107


def write_report(config: str | Path, folder: str | Path, out: str | Path) -> None:
    """Make the page of a study.

    Args:
        config: the study with its defaults, such as results/quick/config.yaml
        folder: its results, such as results/quick
        out: the HTML file

    Raises:
        InputError: a file of the results is not what it should be.
    """
    with _jupyter() as transport:
        # these look at Jupyter's folders when they are imported
        import papermill
        from jupyter_client.manager import AsyncKernelManager
        from nbconvert import HTMLExporter
        from papermill.exceptions import PapermillExecutionError

        try:
            notebook = papermill.execute_notebook(
                NOTEBOOKS / "report.ipynb",
                None,
                parameters={"config": str(config), "folder": str(folder)},
                kernel_name=KERNEL,
                progress_bar=False,
                kernel_manager_class=type("Kernel", (AsyncKernelManager,), {"transport": transport}),
            )
        except PapermillExecutionError as error:
            if error.ename == InputError.__name__:
                raise InputError(error.evalue) from None
            study = Study.load(str(config))
            check_files(study, Path(folder), reads(study))  # names the file whose fault it is
            raise
        exporter = HTMLExporter(template_name="page", extra_template_basedirs=[str(NOTEBOOKS)])
        page, _ = exporter.from_notebook_node(notebook)
    Path(out).write_text(page, encoding="utf-8", errors="replace")


@contextmanager
def _jupyter() -> Iterator[str]:
    """Jupyter with folders of its own, and a kernel in them, while the body runs; yields how to talk to the kernel."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="report-") as own:
        kernel = Path(own, "data", "kernels", KERNEL)
        kernel.mkdir(parents=True)
        command = [sys.executable, "-m", "ipykernel_launcher", "--log-level=CRITICAL", "-f", "{connection_file}"]
        spec = {"argv": command, "display_name": KERNEL, "language": "python"}
        (kernel / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
        os.environ.update({name: os.path.join(own, place) for name, place in FOLDERS.items()})
        try:
            yield "ipc" if len(own) < LONGEST else "tcp"
        finally:
            os.environ.clear()
            os.environ.update(before)
