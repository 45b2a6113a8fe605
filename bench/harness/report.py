"""Write measurements as JSON and Markdown into `bench/results/`, and three ratios into the project's README."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import os
import platform
import re
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bench.harness.contest import Spread

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "bench" / "results"
PAGE = FOLDER / "README.md"  # the newest tables of bench, stages and soak, between their marks
README = ROOT / "README.md"
RATIO = "all on, to "  # prefix of aims that compare the crawl speed with another crawler
NOTHING: Mapping[str, str] = MappingProxyType({})
DEPENDENCIES = ("pycurl", "selectolax", "tantivy", "zstandard", "numpy", "scipy")


@dataclass(frozen=True, kw_only=True)
class Aim:
    """An aim and its measurement."""

    name: str
    measured: Spread
    least: float | None = None
    most: float | None = None
    form: str = ".2f"

    @property
    def is_reached(self) -> bool:
        figure = self.measured.median
        return (self.least is None or figure >= self.least) and (self.most is None or figure <= self.most)

    @property
    def wanted(self) -> str:
        """The bounds, for readers."""
        bounds = {"≥": self.least, "≤": self.most}
        return ", ".join(f"{sign} {bound:g}" for sign, bound in bounds.items() if bound is not None)


@dataclass(frozen=True, kw_only=True)
class Section:
    """One piece of work of all contestants."""

    name: str
    work: str  # a sentence or two: the work and its settings
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]  # for readers
    measured: Any = None  # for programs
    aims: Sequence[Aim] = ()
    left_out: Sequence[str] = ()  # absent contestants, and why
    seconds: float = field(default=0.0)  # duration


def machine() -> dict[str, str]:
    """Return the machine and the date of the measurement."""
    match = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": match[1] if match else platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
    }


def versions() -> dict[str, str]:
    """Return the versions of Gossamer and its main dependencies."""
    return {name: version(name) for name in ("gossamer", *DEPENDENCIES)}


def measured_by(command: str) -> str:
    """Return the sentence before a table: date, command, machine, versions."""
    here = machine()
    version_list = ", ".join(f"{name} {number}" for name, number in versions().items())
    return (
        f"Measured on {here['date']} by {command}: {here['processor']}, {here['cores']} cores, {here['memory']},"
        f" {here['system']}, Python {here['python']}; {version_list}."
    )


def markdown(sections: Sequence[Section], mode: str, command: str, missing: Mapping[str, str] = NOTHING) -> str:
    """Return the whole report."""
    head = (
        f"{measured_by(f'`{command}` ({mode})')} The servers ran on the same cores. Figures are medians, and in"
        " brackets the least and the most of the runs; ratios are taken run by run, of runs that followed one another."
    )
    aims = [aim for section in sections for aim in section.aims]
    parts = [head, table(("aim", "measured", "wanted", ""), map(_aim_row, aims)) if aims else ""]
    parts.append("\n".join(f"- Not measured: {part} ({_line(why)})" for part, why in missing.items()))
    parts += [_section(section) for section in sections]
    return "\n\n".join(part for part in parts if part) + "\n"


def opening(report: str) -> str:
    """Cut a report after its first piece of work; the aims stand before that."""
    return "\n### ".join(report.split("\n### ")[:2])


def ratios(sections: Sequence[Section], command: str) -> str:
    """Return the crawl ratios for the project's README; empty when the run did not measure them."""
    aims = [aim for section in sections for aim in section.aims if aim.name.startswith(RATIO)]
    rows = [(aim.name.removeprefix(RATIO), f"{aim.measured.describe(aim.form)} times as fast") for aim in aims]
    here = machine()
    head = (
        f"Measured on {here['date']} by `{command}` on {here['cores']} cores; medians, and in brackets the least and"
        " the most of the runs."
    )
    return f"{head}\n\n{table(('beside', 'Gossamer with everything on is'), rows)}" if rows else ""


def _section(section: Section) -> str:
    left_out = "".join(f"\n- Not there: {sentence}" for sentence in section.left_out)
    parts = [f"### {section.name}", section.work, table(section.columns, section.rows), left_out.lstrip("\n")]
    return "\n\n".join(part for part in parts if part)


def _line(words: str) -> str:
    return " ".join(words.split())[-300:]


def _aim_row(aim: Aim) -> Sequence[str]:
    return aim.name, aim.measured.describe(aim.form), aim.wanted, "reached" if aim.is_reached else "**missed**"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def write(sections: Sequence[Section], mode: str, command: str, missing: Mapping[str, str] = NOTHING) -> Path:
    """Write the JSON file and the Markdown file of a run; return the Markdown file."""
    FOLDER.mkdir(exist_ok=True)
    text = markdown(sections, mode, command, missing)
    document = {
        "mode": mode,
        "command": command,
        "machine": machine(),
        "versions": versions(),
        "missing": dict(missing),
        "sections": [
            {**dataclasses.asdict(section), "aims": [_aim(aim) for aim in section.aims]} for section in sections
        ],
    }
    (FOLDER / f"{mode}.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    (FOLDER / f"{mode}.md").write_text(text)
    return FOLDER / f"{mode}.md"


def _aim(aim: Aim) -> dict[str, Any]:
    return {**dataclasses.asdict(aim), "reached": aim.is_reached}


def put_between(file: Path, name: str, text: str) -> bool:
    """Replace the text between the marks `<!-- name -->` and `<!-- end of name -->`; return False without marks."""
    page = file.read_text()
    marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    changed, times = marks.subn(lambda match: f"{match[1]}\n{text.strip()}\n\n{match[2]}", page)
    if times:
        file.write_text(changed)
    return bool(times)
