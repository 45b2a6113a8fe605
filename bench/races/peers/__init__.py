"""The other crawlers: how to get and call each, and what it does and omits.

Python's crawlers live in `.venv-bench` (`make bench` creates it from its lock file). Debian's programs are unpacked
under `.cache/debian`. The Go and Rust ones are built under `.cache/bench` from the few lines here. The race leaves out
a peer that is not available on this machine, and the table names the command that failed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bench.harness.contest import Contestant

from webs import debian

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CACHE = ROOT / ".cache" / "bench"
PYTHON = ROOT / ".venv-bench/bin/python"
BUILD_SECONDS = 900.0
WGET2 = ("wget2", "libwget0", "libgpgme11", "libassuan0")


class Absent(NamedTuple):
    """A peer that is not available."""

    name: str
    why: str  # the command that failed, and the end of its output


def crawlers(*, full: bool) -> list[Contestant | Absent]:
    """Return all crawlers beside Gossamer. Only the full race has Spider, because its build takes minutes."""
    peers = [_scrapy(), _crawlee(), _wget2(), _htdig(), _colly()]
    spider = (
        _spider() if full else Absent("spider", "`make bench`, which leaves its build of some minutes to the full run")
    )
    return [*peers, spider]


# -- Python ------------------------------------------------------------------------------------------------------------


def _scrapy() -> Contestant | Absent:
    return _python("scrapy", "scrapy_links.py", "links extracted and followed; nothing kept")


def _crawlee() -> Contestant | Absent:
    return _python("crawlee", "crawlee_links.py", "links extracted and followed (Parsel, memory storage); nothing kept")


def _python(name: str, program: str, does: str) -> Contestant | Absent:
    version_command = [str(PYTHON), "-c", f"import importlib.metadata as m; print(m.version('{name}'))"]
    version = _output_of(version_command)
    if not version:
        return Absent(name, f"not in .venv-bench: `{' '.join(version_command)}`")
    return Contestant(
        name=name, command=lambda url, _: [str(PYTHON), str(HERE / program), url], does=does, version=version
    )


# -- Debian's ----------------------------------------------------------------------------------------------------------


def unpack_packages(packages: tuple[str, ...]) -> dict[str, Path]:
    """Unpack missing Debian packages under `.cache/debian`; return the available ones."""
    folders = {package: debian.CACHE / package for package in packages}
    missing = [package for package, folder in folders.items() if not folder.exists()]
    if missing and shutil.which("apt-get") and shutil.which("dpkg-deb"):
        debian.get(missing)
    return {package: folder for package, folder in folders.items() if folder.exists()}


def _libraries(*packages: Path) -> dict[str, str]:
    """Return the variable that lets unpacked programs find their libraries."""
    folders = sorted({str(file.parent) for package in packages for file in package.glob("usr/lib/**/*.so*")})
    return {"LD_LIBRARY_PATH": ":".join(folders)}


def _wget2() -> Contestant | Absent:
    environment: dict[str, str] = {}
    binary = shutil.which("wget2")
    if binary is None:
        packages = unpack_packages(WGET2)
        if len(packages) < len(WGET2):
            return Absent("wget2", f"`apt-get download {' '.join(WGET2)}`")
        binary, environment = str(packages["wget2"] / "usr/bin/wget2"), _libraries(*packages.values())
    version = _output_of([binary, "--version"], environment)
    if not version:
        return Absent("wget2", "`wget2 --version`: a library of it is not here")
    options = ["--recursive", "--level=inf", "--quiet", "--no-robots", "--max-threads=16", "--accept=html"]
    return Contestant(
        name="wget2",
        command=lambda url, folder: [binary, *options, f"--directory-prefix={folder}", url],
        pages=lambda _, folder: sum(1 for _ in folder.rglob("*.html")),
        environment=environment,
        accepted_codes=frozenset({0, 8}),  # 8: the server answered 404 at least once
        does="links extracted and followed; pages saved as files; written in C",
        version=_version_number(version),
    )


HTDIG = """
database_dir: {folder}
start_url: {url}
limit_urls_to: {site}
max_doc_size: 8000000
server_wait_time: 0
max_connection_requests: -1
server_max_docs: -1
max_hop_count: 999999
head_before_get: false
bad_extensions: .svg .png .gif .css .js .jpg .ico
common_dir: {common}
bad_word_list: {common}/bad_words
mime_types: {common}/mime.types
"""


def _htdig() -> Contestant | Absent:
    binary, common, environment = shutil.which("htdig"), Path("/etc/htdig"), {}
    if binary is None:
        packages = unpack_packages(("htdig",))
        if not packages:
            return Absent("ht://Dig", "`apt-get download htdig`")
        binary, common = str(packages["htdig"] / "usr/bin/htdig"), packages["htdig"] / "etc/htdig"
        environment = _libraries(packages["htdig"])

    def command(url: str, folder: Path) -> list[str]:
        settings = folder / "htdig.conf"
        site = url.rpartition("/")[0]
        settings.write_text(HTDIG.format(folder=folder, url=url, site=site, common=common))
        return [binary, "-i", "-s", "-c", str(settings)]

    return Contestant(
        name="ht://Dig",
        command=command,
        pages=_htdig_pages,
        environment=environment,
        does="links followed; words indexed; an excerpt kept, no source, no link graph",
        version=_package_version("htdig"),
    )


def _htdig_pages(output: bytes, _folder: Path) -> int:
    match = re.search(rb"htdig: +\S+:\d+ (\d+) documents?", output)
    return int(match[1]) if match else 0


def _package_version(package: str) -> str:
    line = re.search(r"^Version: (?:\d+:)?(\S+)", _output_of(["apt-cache", "show", package]), re.MULTILINE)
    return line[1] if line else ""


# -- built here --------------------------------------------------------------------------------------------------------


def _colly() -> Contestant | Absent:
    does = "links extracted and followed; nothing kept; written in Go"
    return _build_peer("colly", ["go", "build", "-o", "links", "."], "links", does, "go.mod")


def _spider() -> Contestant | Absent:
    does = "links extracted and followed; pages kept in memory only; written in Rust"
    return _build_peer("spider", ["cargo", "build", "--quiet", "--release"], "target/release/links", does, "Cargo.toml")


def _build_peer(name: str, build: list[str], program: str, does: str, versions: str) -> Contestant | Absent:
    """Build a program from its source here, once."""
    folder = CACHE / name
    if not (folder / program).exists():
        if shutil.which(build[0]) is None:
            return Absent(name, f"`{build[0]}` is not here")
        shutil.copytree(HERE / name, folder, dirs_exist_ok=True)
        print(f"Building {name} ...", file=sys.stderr)
        try:
            subprocess.run(build, cwd=folder, capture_output=True, text=True, check=True, timeout=BUILD_SECONDS)
        except subprocess.CalledProcessError as fault:
            return Absent(name, f"`{' '.join(build)}`: {fault.stderr.strip().rpartition(chr(10))[2]}")
        except subprocess.TimeoutExpired:
            return Absent(name, f"`{' '.join(build)}`: not done after {BUILD_SECONDS:.0f} s")
    version = _version_number((HERE / name / versions).read_text().partition(f"{name}")[2])
    contestant = Contestant(name=name, command=lambda url, _: [str(folder / program), url], does=does)
    return replace(contestant, version=version)


# -- running commands --------------------------------------------------------------------------------------------------


def _output_of(command: list[str], environment: dict[str, str] | None = None) -> str:
    """Return the output of a command; empty when it is missing or fails."""
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, **(environment or {})}
        )
    except FileNotFoundError:
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def _version_number(text: str) -> str:
    """Return the first version number in a text."""
    match = re.search(r"\d+\.\d[\w.+-]*", text)
    return match[0] if match else ""
