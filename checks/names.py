"""Checks names in src/: a public class name exists once, functions are verbs or nouns, packages stay small.

    python checks/names.py

`make check` runs it. The script prints each violation with path and line, and exits with 1 if there is one.
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

# Two back-ends of one protocol may share a class name, because a reader looks for the same word in both.
MIRRORED = re.compile(r"/(?:sqlite|postgres|tantivy|opensearch)/")
# Class name that may be defined twice -> reason. At most five.
ALLOWED_TWICE: dict[str, str] = {}
MOST_ALLOWED_TWICE = 5

MOST_PARTICIPLES = 10  # functions; a few are acceptable
IRREGULAR = frozenset({
    "begun", "born", "bound", "bought", "broken", "brought", "built", "caught", "chosen", "done", "drawn", "driven",
    "fallen", "felt", "forgotten", "found", "given", "gone", "grown", "heard", "held", "hidden", "kept", "known",
    "laid", "led", "left", "lost", "made", "meant", "met", "paid", "said", "seen", "sent", "shown", "sold", "spent",
    "stood", "struck", "stuck", "taken", "thought", "told", "torn", "understood", "woken", "won", "worn", "written",
})  # fmt: skip
# Verbs and nouns that end like participles.
NOT_PARTICIPLES = frozenset({"embed", "exceed", "feed", "need", "proceed", "seed", "speed", "succeed"})

MOST_MODULES = 16  # in one package
# Packages with one module per command or report; they grow with the number of items.
ONE_MODULE_PER_ITEM = frozenset({"cli", "graph/reports"})


class Definition(NamedTuple):
    """A class or function, and where it is defined."""

    name: str
    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.name}"


def definitions(path: Path, root: Path, kinds: tuple[type[ast.AST], ...]) -> Iterator[Definition]:
    """Yield the definitions of some kinds in a module."""
    name = path.relative_to(root).as_posix()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, kinds):
            assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            yield Definition(node.name, name, node.lineno)


def defined_twice(classes: Iterable[Definition]) -> Iterator[str]:
    """Yield a sentence for each public class name that several modules define."""
    homes: dict[str, dict[str, Definition]] = defaultdict(dict)
    for definition in classes:
        if not definition.name.startswith("_"):
            homes[definition.name].setdefault(MIRRORED.sub("/*/", definition.path), definition)
    for name, by_path in sorted(homes.items()):
        if len(by_path) > 1 and name not in ALLOWED_TWICE:
            yield f"The class name {name} is defined {len(by_path)} times: {', '.join(map(str, by_path.values()))}"


def is_participle(name: str) -> bool:
    """Return whether the name of a function is a single past participle."""
    word = name.strip("_")
    return word in IRREGULAR or (word.endswith("ed") and "_" not in word and word not in NOT_PARTICIPLES)


def too_many_participles(functions: Iterable[Definition]) -> Iterator[str]:
    """Yield a sentence if more than `MOST_PARTICIPLES` functions are named like `joined`."""
    participles = [definition for definition in functions if is_participle(definition.name)]
    if len(participles) > MOST_PARTICIPLES:
        listing = ", ".join(map(str, participles))
        yield f"{len(participles)} functions are bare participles, at most {MOST_PARTICIPLES} are allowed: {listing}"


def large_packages(modules: Iterable[Path], root: Path) -> Iterator[str]:
    """Yield a sentence for each package with more than `MOST_MODULES` modules."""
    sizes: dict[str, int] = defaultdict(int)
    for path in modules:
        if path.name != "__init__.py":
            sizes[path.parent.relative_to(root).as_posix()] += 1
    for package, size in sorted(sizes.items()):
        if size > MOST_MODULES and package.partition("/")[2] not in ONE_MODULE_PER_ITEM:
            yield f"The package {package} has {size} modules, at most {MOST_MODULES} are allowed."


def violations(root: Path) -> list[str]:
    """Return every violation in a source folder as a sentence."""
    modules = sorted(root.rglob("*.py"))
    classes = [item for path in modules for item in definitions(path, root, (ast.ClassDef,))]
    functions = [item for path in modules for item in definitions(path, root, (ast.FunctionDef, ast.AsyncFunctionDef))]
    sentences = [*defined_twice(classes), *too_many_participles(functions), *large_packages(modules, root)]
    if len(ALLOWED_TWICE) > MOST_ALLOWED_TWICE:
        sentences.append(f"ALLOWED_TWICE has {len(ALLOWED_TWICE)} names, at most {MOST_ALLOWED_TWICE} are allowed.")
    return sentences


def main() -> int:
    """Print the violations; return 1 if there are any."""
    sentences = violations(SOURCES)
    for sentence in sentences:
        print(sentence)
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
