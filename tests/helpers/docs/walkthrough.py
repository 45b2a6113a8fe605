"""Follow a page of the documentation as a reader would: type its commands and compare the output.

The word after the three backticks decides how a block is read:

    console     commands after "$ ", with their output on a terminal; a line "..." stands for any lines, "..." within
                a line for any text, and blanks count as one. A command must exit with 0 unless `echo $?` follows it.
    console background    a server that runs until the page ends
    python, sql           run; a `text` block right after it shows the output (sql: of web/web.db)
    toml FILE   settings to save under that name
    sh          commands whose output no page shows; they run if tests have what they need
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import termios
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from helpers.cli.commands import NO_RANKING, environment
from helpers.docs.notebook import Output, cell_text, code_cells
from helpers.patience import PATIENCE, slowness

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = 140  # of the terminal: wide enough for every table
# A command that is ended after some seconds; a slow machine gets more, so that the command has begun its work.
TIMEOUT = re.compile(r"\b(timeout (?:--\S+ )*)(\d+)( gossamer )")


# -- reading pages -----------------------------------------------------------------------------------------------------


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    argument: str
    text: str


def blocks(page: Path) -> list[Block]:
    matches = re.findall(r"^```(\w+) ?(.*)\n((?:.*\n)*?)```$", page.read_text(), re.MULTILINE)
    return [Block(*match) for match in matches]


def prose(page: Path) -> str:
    """A page without its blocks."""
    return re.sub(r"^```(?:.*\n)*?```$", "", page.read_text(), flags=re.MULTILINE)


def code_words(page: Path) -> list[str]:
    """Return the texts between single backticks."""
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", prose(page))


def commands_in(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of a console block with the lines shown below it."""
    command, shown = "", list[str]()
    for line in block.text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, shown
            command, shown = line[2:], []
        elif line.startswith("> ") and not shown:
            command += "\n" + line[2:]
        else:
            shown.append(line)
    yield command, shown


# -- running them ------------------------------------------------------------------------------------------------------


def looks_like(shown: list[str], real: list[str]) -> bool:
    """Return whether the shown lines match the real ones."""
    pattern = ""
    for line in " ".join("\n".join(shown).split(" ")).strip().splitlines():
        text = " ".join(line.split())
        pattern += r"(?:.*\n)*?" if text == "..." else re.escape(text).replace(r"\.\.\.", ".*") + r"\n"
    text = "".join(" ".join(line.split()) + "\n" for line in "\n".join(real).strip().splitlines())
    return re.fullmatch(pattern, text) is not None


def screen(written: str) -> list[str]:
    """Return the lines left on a terminal after all cursor moves; the live display removes its own lines."""
    rows, at, column = [""], 0, 0
    for numbers, letter, text in re.findall(r"\x1b\[([0-9;?]*)([A-Za-z])|(\r|\n|[^\x1b\r\n]+)", written):
        if letter == "A":
            at = max(0, at - int(numbers or 1))
        elif letter == "K":
            rows[at] = "" if numbers == "2" else rows[at][:column]
        elif text == "\r":
            column = 0
        elif text == "\n":
            at += 1
            rows += [""] * (at + 1 - len(rows))
        elif text:
            rows[at] = rows[at][:column].ljust(column) + text + rows[at][column + len(text) :]
            column += len(text)
    return rows


class Reader:
    """A reader who does what a page says, in an empty directory."""

    def __init__(self, directory: Path, names: dict[str, str]) -> None:
        self._directory = directory
        self._names = names  # name on the page -> name here: hosts and ports
        self._servers: list[subprocess.Popen[bytes]] = []
        here = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(directory), "TERM": "xterm"}
        here["PAGER"] = "cat"  # a reader who does not want to press q
        self._environment = environment({**here, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"})
        for name in ("COLUMNS", *NO_RANKING):  # readers set neither
            self._environment.pop(name, None)

    def follow(self, page: Path) -> None:
        """Run every block from top to bottom."""
        page_blocks = blocks(page)
        for block, next_block in zip(page_blocks, [*page_blocks[1:], Block("", "", "")], strict=True):
            shown = next_block.text.splitlines() if next_block.language == "text" else []
            match block.language, block.argument:
                case "console", "background":
                    self._serve(block)
                case "console", _:
                    self._type(block)
                case "python", _:
                    self._expect(block.text, shown, self._python(block.text))
                case "sql", _:
                    self._expect(block.text, shown, self._sql(block.text))
                case "toml", name if name:
                    file = self._directory / name
                    file.parent.mkdir(exist_ok=True)
                    file.write_text(self._here(block.text))

    def run_notebook(self, page: Path) -> list[list[Output]]:
        """Run the cells of a notebook one after the other; return the outputs of each."""
        cells = [self._here(cell_text(cell)) for cell in code_cells(page)]
        code = (
            "import json, sys\nfrom helpers.docs.notebook import run_cell\nnamespace = {}\n"
            "cells = json.loads(sys.stdin.read())\n"
            "print(json.dumps([run_cell(cell, namespace) for cell in cells], ensure_ascii=False))"
        )
        helpers = str(Path(__file__).resolve().parents[2])
        result = subprocess.run(
            [sys.executable, "-c", code], cwd=self._directory, env={**self._environment, "PYTHONPATH": helpers},
            input=json.dumps(cells), capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        outputs: list[list[Output]] = json.loads(self._there(result.stdout))
        return outputs

    def run_silently(self, command: str) -> None:
        """Run a command of a block that shows no output; a server only until it is ready."""
        command = self._here(command.partition("#")[0]).strip()
        server = command.startswith("gossamer serve")
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command} --port 0" if server else command], cwd=self._directory,
            env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, start_new_session=True,
        )  # fmt: skip
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if server and line.startswith("Ready: "):
                os.killpg(process.pid, signal.SIGKILL)
        process.stderr.close()
        assert process.wait(PATIENCE) == (-signal.SIGKILL if server else 0), f"$ {command}\n{said}"

    def leave(self) -> None:
        """Stop the servers."""
        for server in self._servers:
            os.killpg(server.pid, signal.SIGKILL)
            server.communicate()

    def _here(self, text: str) -> str:
        for theirs, ours in self._names.items():
            text = text.replace(f"https://{theirs}", f"http://{ours}")
            text = re.sub(rf"\b{re.escape(theirs)}\b", ours, text)
        text = TIMEOUT.sub(lambda match: f"{match[1]}{int(match[2]) * slowness():.1f}{match[3]}", text)
        # The local server stands in for the world, so the crawl needs permission for private addresses.
        return text.replace("gossamer crawl --query", "gossamer crawl --allow-private 127.0.0.0/8 --query")

    def _there(self, text: str) -> str:
        for theirs, ours in self._names.items():
            text = text.replace(f"http://{ours}", f"https://{theirs}") if not theirs.isdecimal() else text
            text = re.sub(rf"\b{re.escape(ours)}\b", theirs, text)
        return text

    def _expect(self, what: str, shown: list[str], real: list[str]) -> None:
        if shown:
            assert looks_like(shown, real), "\n".join([f"$ {what}", "-- shown:", *shown, "-- real:", *real])

    def _type(self, block: Block) -> None:
        wanted = list(commands_in(block))
        parts = self._on_terminal([self._here(command) for command, _ in wanted])
        for i, (command, shown) in enumerate(wanted):
            code, written = parts[i]
            if demo := re.search(r"Crawling http://127\.0\.0\.1:(\d+)/ into", written):
                self._names.setdefault("8642", demo[1])  # the demo web's port, if 8642 was taken
            real = screen(self._there(written))
            followed = i + 1 < len(wanted) and wanted[i + 1][0] == "echo $?"
            assert code == 0 or followed, "\n".join([f"$ {command}", f"ended with {code}:", *real])
            self._expect(command, shown, real)

    def _on_terminal(self, commands: list[str]) -> list[tuple[int, str]]:
        """Return exit code and terminal output of each command."""
        mark = "__code=$?; printf '\\036%d\\036' $__code; (exit $__code)"
        # The pages show the settings of a reader, without the variable that keeps browsers out of tests.
        typed = (
            command.replace("gossamer config show", "env -u GOSSAMER_CRAWL_RENDER gossamer config show")
            for command in commands
        )
        script = "".join(f"{command}\n{mark}\n" for command in typed)
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        process = subprocess.Popen(
            ["bash", "-c", script], cwd=self._directory, env=self._environment, stdin=subprocess.DEVNULL, stdout=slave,
            stderr=slave, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        written = b""
        with contextlib.suppress(OSError):  # Linux reports EIO once the other end is closed
            while chunk := os.read(master, 65536):
                written += chunk
        os.close(master)
        process.wait(PATIENCE)
        texts = written.decode().split("\x1e")
        return [(int(code), text) for text, code in zip(texts[::2], texts[1::2], strict=False)]

    def _serve(self, block: Block) -> None:
        [(command, _)] = commands_in(block)
        ports = re.findall(r"\b\d{4}\b", command)
        self._names |= {port: str(free_port()) for port in ports}
        server = subprocess.Popen(
            ["bash", "-c", f"exec {self._here(command)}"], cwd=self._directory, env=self._environment,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self._servers.append(server)
        for port in ports:
            wait_for(int(self._names[port]))

    def _python(self, code: str) -> list[str]:
        result = subprocess.run(
            [sys.executable, "-c", self._here(code)], cwd=self._directory, env=self._environment, capture_output=True,
            text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert result.returncode == 0, f"{code}\n{result.stderr}"
        return self._there(result.stdout).splitlines()

    def _sql(self, statement: str) -> list[str]:
        with closing(sqlite3.connect(f"file:{self._directory}/web/web.db?mode=ro", uri=True)) as database:
            rows = database.execute(self._here(statement)).fetchall()
        return [self._there("|".join("" if value is None else str(value) for value in row)) for row in rows]


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < deadline, f"nothing listens on port {port}"
            time.sleep(0.05)
        else:
            return
