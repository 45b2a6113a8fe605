"""Checks names in src/: a public class name exists once, functions are verbs or nouns, packages stay small.

    python checks/names.py

`make check` runs it. It prints each violation with its place and exits with 1 if there is one.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SOURCES = Path(__file__).resolve().parents[1] / "src"

# Two back-ends of one protocol may share a class name: a reader looks for the same word in both.
MIRRORED = re.compile(r"/(?:sqlite|postgres|tantivy|opensearch)/")
# Class names that may stand twice, each with its reason. At most five.
ALLOWED_TWICE: dict[str, str] = {}
MOST_ALLOWED_TWICE = 5

MOST_PARTICIPLES = 10
IRREGULAR = frozenset({
    "begun", "born", "bound", "bought", "broken", "brought", "built", "caught", "chosen", "done", "drawn", "driven",
    "fallen", "felt", "forgotten", "found", "given", "gone", "grown", "heard", "held", "hidden", "kept", "known",
    "laid", "led", "left", "lost", "made", "meant", "met", "paid", "said", "seen", "sent", "shown", "sold", "spent",
    "stood", "struck", "stuck", "taken", "thought", "told", "torn", "understood", "woken", "won", "worn", "written",
})  # fmt: skip
# They end like participles and are verbs or nouns.
NOT_PARTICIPLES = frozenset({"embed", "exceed", "feed", "need", "proceed", "seed", "speed", "succeed"})

MOST_MODULES = 16
# One module per command or per report: such a package grows with what it lists.
ONE_MODULE_PER_ITEM = frozenset({"cli", "graph/reports"})


class Definition(NamedTuple):
    """A class or function, and where it is defined."""

    name: str
    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.name}"


def definitions(path: Path, root: Path, kinds: tuple[type[ast.AST], ...]) -> Iterator[Definition]:
    """Everything of some kinds that a module defines."""
    name = path.relative_to(root).as_posix()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, kinds):
            assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            yield Definition(node.name, name, node.lineno)


def defined_twice(classes: Iterable[Definition]) -> Iterator[str]:
    """Public class names that several modules define."""
    homes: dict[str, dict[str, Definition]] = defaultdict(dict)
    for definition in classes:
        if not definition.name.startswith("_"):
            homes[definition.name].setdefault(MIRRORED.sub("/*/", definition.path), definition)
    for name, found in sorted(homes.items()):
        if len(found) > 1 and name not in ALLOWED_TWICE:
            yield f"The class name {name} is defined {len(found)} times: {', '.join(map(str, found.values()))}"


def is_participle(name: str) -> bool:
    """Whether a function's name is one word, and a past participle."""
    word = name.strip("_")
    return word in IRREGULAR or (word.endswith("ed") and "_" not in word and word not in NOT_PARTICIPLES)


def too_many_participles(functions: Iterable[Definition]) -> Iterator[str]:
    """Functions named like `told` or `joined`, where there are more than a few."""
    found = [definition for definition in functions if is_participle(definition.name)]
    if len(found) > MOST_PARTICIPLES:
        places = ", ".join(map(str, found))
        yield f"{len(found)} functions are bare participles, {MOST_PARTICIPLES} may be: {places}"


def large_packages(modules: Iterable[Path], root: Path) -> Iterator[str]:
    """Packages with more modules than a reader keeps in mind."""
    sizes: dict[str, int] = defaultdict(int)
    for path in modules:
        if path.name != "__init__.py":
            sizes[path.parent.relative_to(root).as_posix()] += 1
    for package, size in sorted(sizes.items()):
        if size > MOST_MODULES and package.partition("/")[2] not in ONE_MODULE_PER_ITEM:
            yield f"The package {package} has {size} modules, {MOST_MODULES} may be."


def violations(root: Path) -> list[str]:
    """Every violation below a source folder, as a sentence."""
    modules = sorted(root.rglob("*.py"))
    classes = [item for path in modules for item in definitions(path, root, (ast.ClassDef,))]
    functions = [item for path in modules for item in definitions(path, root, (ast.FunctionDef, ast.AsyncFunctionDef))]
    found = [*defined_twice(classes), *too_many_participles(functions), *large_packages(modules, root)]
    if len(ALLOWED_TWICE) > MOST_ALLOWED_TWICE:
        found.append(f"ALLOWED_TWICE has {len(ALLOWED_TWICE)} names, {MOST_ALLOWED_TWICE} may be.")
    return found


def main() -> int:
    """Print the violations; 1 if there are any."""
    found = violations(SOURCES)
    for sentence in found:
        print(sentence)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
