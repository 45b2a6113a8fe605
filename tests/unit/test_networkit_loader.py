"""NetworKit comes without the libraries of its pictures and tables, and other threads can import these meanwhile."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from gossamer.graph.networkit_loader import UNUSED, _without

LOADED = """
import sys
from gossamer.graph.networkit_loader import UNUSED, load_networkit
kit = load_networkit()
assert kit.community.ParallelLeiden
print(*sorted(UNUSED & sys.modules.keys()))
import networkx, pandas
"""


def test_networkit_comes_without_libraries_for_pictures_and_tables() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_only_the_thread_that_loads_it_misses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    imported: list[str] = []

    def import_it() -> None:
        import colorsys

        imported.append(colorsys.__name__)

    with _without(frozenset({"colorsys"})):
        with pytest.raises(ModuleNotFoundError, match="colorsys is not loaded here"):
            import_it()
        other = threading.Thread(target=import_it)
        other.start()
        other.join()
    assert imported == ["colorsys"]


def test_the_libraries_are_those_that_networkit_imports() -> None:
    """A later NetworKit may import others; then loading it takes long again."""
    imports = "import sys, networkit; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", imports], capture_output=True, text=True, check=True).stdout.split()
    big = {"IPython", "matplotlib", "networkx", "pandas", "plotly", "pyarrow", "seaborn", "sklearn"}
    assert big & {*loaded} <= UNUSED | {"pyarrow"}  # pandas brings pyarrow
