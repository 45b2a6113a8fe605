"""Keeps the list of modules in ARCHITECTURE.md equal to the code: their docstrings' first lines and public names.

python checks/module_list.py            exit with 1 if the list is out of date (`make check`)
python checks/module_list.py --write    write the list
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "gossamer"
PAGE = ROOT / "ARCHITECTURE.md"
START, END = "<!-- modules -->\n", "<!-- end of modules -->\n"


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n")[0]


def public_names(path: Path) -> list[str]:
    """Return the public classes and functions of a module, then its limits: constants that are numbers."""
    body = ast.parse(path.read_text("utf-8")).body
    definitions = [
        node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    limits = [name for node in body if isinstance(node, ast.Assign) for name in _number_names(node)]
    return [name for name in (*definitions, *limits) if not name.startswith("_")]


def _number_names(node: ast.Assign) -> list[str]:
    literals = [each for each in ast.walk(node.value) if isinstance(each, ast.Constant)]
    is_number = bool(literals) and all(type(each.value) in {int, float} for each in literals)
    is_simple = isinstance(node.value, ast.Constant | ast.BinOp | ast.UnaryOp)
    targets = [each.id for each in node.targets if isinstance(each, ast.Name) and each.id.isupper()]
    return targets if is_number and is_simple else []


def module_list(sources: Path) -> str:
    """Return a Markdown table for each package, with one row per module."""
    packages = sorted({path.parent for path in sources.rglob("*.py")})
    return "\n".join(_table(package, sources) for package in packages)


def _table(package: Path, sources: Path) -> str:
    modules = sorted(path for path in package.glob("*.py") if not path.name.startswith("__"))
    name = package.relative_to(sources).as_posix()
    title = f"`{name}/`" if name != "." else "top level"
    rows = [f"| `{path.name}` | {first_line(path)} | {', '.join(public_names(path))} |\n" for path in modules]
    return f"| {title} | {first_line(package / '__init__.py')} | defines |\n|---|---|---|\n{''.join(rows)}"


def with_list(page: str, listing: str) -> str:
    """Return the page with the list between its marks."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{listing}\n{END}{after}"


def main() -> int:
    """Check or write the list; 1 if it is out of date."""
    page = PAGE.read_text("utf-8")
    wanted = with_list(page, module_list(SOURCES))
    if "--write" in sys.argv[1:]:
        PAGE.write_text(wanted, "utf-8")
        return 0
    if page != wanted:
        print("The list of modules in ARCHITECTURE.md is out of date: run `python checks/module_list.py --write`.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
