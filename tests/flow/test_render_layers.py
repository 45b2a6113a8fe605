"""The layers around a browser, each where it shows: namespaces and seccomp of tabs, files, the choice without one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from conftest import skip_or_fail
from gossamer.cli.config import _rendering_text
from gossamer.errors import UsageError
from gossamer.model import Outcome
from gossamer.render import choice
from gossamer.render.choice import BrowserChoice, choose_browser
from gossamer.render.isolation import BROWSER_USER, IsolationReport, check_isolation
from helpers.cli.commands import FAST, command, environment, query
from helpers.patience import PATIENCE
from helpers.render.render_loop import RenderLoop, all_processes, browser_processes
from helpers.render.render_loop import command as command_line
from webs.served import SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPLETE = IsolationReport()
NO_NETWORK = IsolationReport(network="the kernel has none")
NO_SANDBOX = IsolationReport(sandbox="the kernel has none")
NO_LANDLOCK = IsolationReport(files="this kernel has no Landlock")
# In place of a browser: tries to read a store, to write beside it, and to read its own program.
PROBE = """#!/bin/sh
cat {store}/web.db > "$HOME/store" 2> "$HOME/refusal"
touch {store}/new 2> /dev/null && echo written > "$HOME/new"
cat "$0" > "$HOME/program"
echo > "$HOME/end"
sleep 600
"""
# Starts a probe as a renderer process starts its browser: it takes descriptors 3 and 4, and kills all its children.
STARTER = """
import json, sys
import msgspec
from gossamer.render.browser_process import BrowserProcess, reserve_pipe_descriptors
from gossamer.render.isolation import IsolationReport
from gossamer.render.options import RenderOptions
from helpers.patience import until
reserve_pipe_descriptors()
browser = BrowserProcess(RenderOptions(browser=sys.argv[1]), msgspec.json.decode(sys.argv[2], type=IsolationReport))
try:
    until((browser.home / "end").exists, "the end of the probe")
    print(json.dumps({file.name: file.read_text() for file in browser.home.iterdir()}))
finally:
    browser.end()
"""
TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may read, unlike those of pytest."""
    folder = Path(tempfile.mkdtemp(prefix="gossamer-layers-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def status_of(pid: int) -> dict[str, str]:
    lines = Path("/proc", str(pid), "status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def test_tabs_are_in_the_sandbox_of_chromium(browser_program: Path) -> None:
    with closing(RenderLoop(browser_program)) as loop:
        assert loop.render("<p>one").outcome is Outcome.FETCHED
        [browser] = browser_processes(loop)
        [tab] = [process for process in all_processes(loop) if "--type=renderer" in command_line(process)]
        status = status_of(tab.pid)
        assert status["Seccomp"] == "2"
        assert status["NoNewPrivs"] == "1"
        assert len(status["NSpid"].split()) > len(status_of(browser.pid)["NSpid"].split())
        if os.geteuid() == 0:  # other users may not look at them
            namespaces = [
                {name: Path(f"/proc/{pid}/ns/{name}").readlink() for name in ("user", "net")}
                for pid in (os.getpid(), browser.pid, tab.pid)
            ]
            assert len({each["user"] for each in namespaces}) == 3
            assert len({each["net"] for each in namespaces}) == 3
            assert status["Uid"].split() == [str(BROWSER_USER)] * 4


def probe_files(folder: Path, isolation: IsolationReport) -> dict[str, str]:
    """Start a probe as a browser, and return the files that it wrote into its HOME."""
    store = folder / "web"
    store.mkdir()
    store.chmod(0o777)
    (store / "web.db").write_text("secret")
    program = folder / "bin" / "browser"
    program.parent.mkdir()
    program.write_text(PROBE.format(store=store))
    program.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", STARTER, program, msgspec.json.encode(isolation).decode()],
        env={**os.environ, "PYTHONPATH": str(TESTS)}, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_landlock_alone_keeps_a_browser_from_a_store_that_all_may_read(
    browser_program: Path, open_folder: Path
) -> None:
    if check_isolation().files:
        skip_or_fail("This kernel has no Landlock")
    found = probe_files(open_folder, COMPLETE)
    assert found["store"] == ""
    assert "Permission denied" in found["refusal"]
    assert "new" not in found
    assert found["program"].startswith("#!/bin/sh")


def test_without_landlock_the_mode_of_files_decides(browser_program: Path, open_folder: Path) -> None:
    assert probe_files(open_folder, NO_LANDLOCK)["store"] == "secret"


# -- the choice --------------------------------------------------------------------------------------------------------


@pytest.fixture
def browser(tmp_path: Path) -> str:
    program = tmp_path / "browser"
    program.write_text("")
    program.chmod(0o755)
    return str(program)


def lose(layers: IsolationReport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "check_isolation", lambda: layers)


@pytest.mark.parametrize(
    ("layers", "reason"),
    [(NO_NETWORK, "a network namespace is not to be had"), (NO_SANDBOX, "Chromium's sandbox is not to be had")],
)
def test_a_missing_layer_turns_auto_off_and_refuses_always(
    browser: str, layers: IsolationReport, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(layers, monkeypatch)
    chosen = choose_browser("auto", named=browser, unsafe=True)  # only `always` goes on without
    assert (chosen.mode, chosen.reason) == ("never", f"{reason}: the kernel has none")
    with pytest.raises(UsageError, match=f"needs the layers .*{reason}"):
        choose_browser("always", named=browser)
    allowed = choose_browser("always", named=browser, unsafe=True)
    assert (allowed.mode, allowed.layers) == ("always", layers)
    assert "WITHOUT A LAYER" in _rendering_text(allowed)


def test_landlock_may_be_missing_and_config_says_so(browser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lose(NO_LANDLOCK, monkeypatch)
    chosen = choose_browser("auto", named=browser)
    assert chosen.mode == "auto"
    assert "without Landlock, because this kernel has no Landlock" in _rendering_text(chosen)
    assert "Landlock" not in _rendering_text(BrowserChoice(mode="auto", browser=browser, layers=COMPLETE))


# -- an ordinary user --------------------------------------------------------------------------------------------------


def test_an_ordinary_user_renders_too(browser_program: Path, tmp_path: Path) -> None:
    # In a user namespace, because the interpreter may be where only root reads. After exec, no capability is left.
    prefix = [] if os.geteuid() else ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
    script = "<div id=a></div><script>document.getElementById('a').innerHTML = '<a href=/next>by script</a>'</script>"
    store = tmp_path / "web"
    with SiteServer({"/": script, "/next": "<p>next</p>"}) as site:
        done = subprocess.run(
            [*prefix, *command("crawl", site.url, "--store", store, "--render", "always", "--no-index", *FAST),
             "--browser", str(browser_program)],
            env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert query(store, "SELECT count(*) FROM renderings") == [(2,)]
