"""The notebook runs as Jupyter runs it, from the first cell to the last, and is kept without its results."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.ipynb"


def test_the_notebook_runs_and_every_result_shows_itself(tmp_path: Path) -> None:
    if not os.environ.get("GEDP_REQUIRE_NOTEBOOK"):
        pytest.importorskip("nbclient", reason="Jupyter is not installed: make notebook")
        pytest.importorskip("ipykernel", reason="Jupyter's kernel is not installed: make notebook")
    import nbformat
    from nbclient import NotebookClient

    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = {cell.id: "".join(str(output) for output in cell.outputs) for cell in notebook.cells if "outputs" in cell}
    assert "profit_loss" in shown["spec"]
    assert "share of mu" in shown["check"]
    assert "text/html" in shown["tabulate"]
    assert "image/png" in shown["errors"]


def test_the_notebook_is_kept_without_results() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
