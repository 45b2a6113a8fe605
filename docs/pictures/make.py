"""Draw `crawl.svg`, the picture in the README: a real crawl of the demo web, halfway, and what it found.

    .venv/bin/python docs/pictures/make.py

Nothing in it is made up: the numbers are those of the crawl that runs now, drawn by the code that draws the live
display, and the rest is what the commands write on a terminal. Only the times differ from run to run.
"""  # noqa: INP001 - a program, not a package

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from gossamer.cli.live import frame
from gossamer.crawl.loop import CrawlLoop
from gossamer.demo import DemoWeb
from gossamer.start import CrawlRequest, prepare_crawl

if TYPE_CHECKING:
    from gossamer.crawl.statistics import CrawlProgress

PICTURE = Path(__file__).with_name("crawl.svg")
COLUMNS, ROWS = 80, 50
HALFWAY = 200  # pages of the demo web's 359

THEME = TerminalTheme(
    (22, 26, 34),
    (215, 220, 230),
    [(22, 26, 34), (232, 104, 104), (126, 198, 120), (228, 186, 92), (110, 160, 240), (190, 140, 230), (90, 190, 200),
     (215, 220, 230)],
    [(110, 120, 140), (240, 130, 130), (150, 215, 145), (240, 205, 120), (140, 180, 250), (205, 165, 240),
     (120, 210, 220), (245, 248, 252)],
)  # fmt: skip

# rich's own format, without the font that it fetches from elsewhere: an image in a page may fetch nothing.
FORMAT = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>A crawl at work, and what it found</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix" xml:space="preserve">
{matrix}
</g>
</g>
</svg>
"""


def main() -> None:
    """Crawl, draw, save."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    with tempfile.TemporaryDirectory() as folder, DemoWeb() as demo:
        store = Path(folder) / "web"
        progress = crawl_seen_halfway(demo.url, store)
        command(console, "gossamer go")
        console.print(Text(f"Crawling {demo.url} into web/ ..."))
        console.print(frame(progress, COLUMNS))
        for arguments in (["status"], ["hosts", "--limit", "4"]):
            console.print()
            command(console, " ".join(["gossamer", *arguments]))
            console.print(Text.from_ansi(on_terminal([*arguments, "--store", str(store)])))
    svg = console.export_svg(title="gossamer", theme=THEME, code_format=FORMAT, unique_id="t")
    PICTURE.write_text(re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE))


def crawl_seen_halfway(url: str, store: Path) -> CrawlProgress:
    """Crawl to the end; how it stood halfway."""
    loop = prepare_crawl(CrawlRequest(store=str(store), urls=(url,)))
    assert isinstance(loop, CrawlLoop), "a new web cannot be complete"
    seen: list[CrawlProgress] = []
    for _ in loop.run(on_wait=lambda: seen.append(loop.progress())):
        pass
    return next(now for now in seen if now.pages >= HALFWAY and now.transfers)


def command(console: Console, text: str) -> None:
    """A prompt and what was typed behind it."""
    console.print(Text.assemble(("$ ", "bright_black"), (text, "bold bright_white")))


def on_terminal(arguments: list[str]) -> str:
    """What a command writes on a terminal of this size, with its colours."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    subprocess.run([sys.executable, "-m", "gossamer", *arguments], stdout=slave, stderr=slave, check=True)  # noqa: S603 - our own
    os.close(slave)
    written = b""
    try:
        while chunk := os.read(master, 65536):
            written += chunk
    except OSError:  # how Linux tells that nobody has the other end open
        pass
    os.close(master)
    return written.decode().replace("\r\n", "\n").rstrip()


if __name__ == "__main__":
    main()
