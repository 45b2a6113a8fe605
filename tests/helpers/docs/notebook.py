"""Run a notebook of the documentation and compare its outputs, or write them:

    PYTHONPATH=tests .venv/bin/python -m helpers.docs.notebook docs/how-to/web-in-a-notebook.ipynb

A reader sees the outputs without running anything, so they are kept in the file. They hold no counters and no paths of
a machine. Jupyter would bring thirty packages; cells without magic commands need none of them.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

Output = dict[str, Any]


def code_cells(notebook: Path) -> list[dict[str, Any]]:
    """Return the cells of code."""
    cells: list[dict[str, Any]] = json.loads(notebook.read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def cell_text(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def run_cell(code: str, namespace: dict[str, Any]) -> list[Output]:
    """Run a cell; return what it prints, and what its last expression shows."""
    tree = ast.parse(code)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
    outputs: list[Output] = []
    if text := printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)})
    if value is not None:
        outputs.append(_shown(value))
    return outputs


def _shown(value: object) -> Output:
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    if to_html := getattr(value, "_repr_html_", None):
        data["text/html"] = to_html().splitlines(keepends=True)
    return {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}


def main() -> None:
    """Write the outputs of a notebook into it."""
    from docs.test_docs import sites_for
    from helpers.docs.walkthrough import Reader

    path = Path(sys.argv[1]).resolve()
    notebook = json.loads(path.read_text())
    with sites_for(path) as sites, tempfile.TemporaryDirectory() as directory:
        reader = Reader(Path(directory), {name: site.authority for name, site in sites.items()})
        outputs = iter(reader.run_notebook(path))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = next(outputs)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
