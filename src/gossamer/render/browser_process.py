"""One browser: its private HOME, its limits, its two pipes, and its end.

The order between `fork` and the start of the program matters. First the process becomes an ordinary user, because
Chromium's sandbox does not start as root. Then it leaves the network, gives up files, takes its limits, and ties its
life to ours.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.processes.exit_report import describe_exit, last_stderr_line
from gossamer.processes.limits import cap_data, disable_core_dumps
from gossamer.render.browser_command import browser_command, browser_environment
from gossamer.render.homes import make_home, remove_homes
from gossamer.render.isolation import BROWSER_USER
from gossamer.render.landlock import READ, WRITE, landlock_version, restrict_files
from gossamer.render.namespaces import die_with_parent, enter_empty_network, refuse_new_privileges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gossamer.render.isolation import IsolationReport
    from gossamer.render.options import RenderOptions

_PIPE_DESCRIPTORS = (3, 4)  # --remote-debugging-pipe reads commands at 3 and writes at 4
_FIRST_FREE_DESCRIPTOR = 10  # for our ends of the pipes, out of the way
_FILE_BYTES = 512 << 20  # of any file that the browser writes, shared memory included
_EXIT_SECONDS = 0.5  # that a browser has to exit after it closed its pipe, and its processes after a kill
_NICENESS = 5  # as parsers: the coordinator and searches beside the crawl go first

# What a browser reads: programs, libraries, fonts, settings of the system. Folders in which packages alone write, so
# that no store is below one: neither /usr/local nor /etc nor /opt as a whole.
_READABLE = (
    "/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/share", "/usr/local/lib",
    "/usr/local/share/fonts", "/lib", "/lib64", "/bin", "/sys", "/var/cache/fontconfig", "/etc/alternatives",
    "/etc/chromium", "/etc/chromium.d", "/etc/fonts", "/etc/group", "/etc/hosts", "/etc/ld.so.cache", "/etc/ld.so.conf",
    "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/localtime", "/etc/machine-id", "/etc/nsswitch.conf",
    "/etc/os-release", "/etc/passwd", "/etc/pki", "/etc/resolv.conf", "/etc/ssl",
)  # fmt: skip
_WRITABLE = ("/proc", "/dev")  # the sandbox maps users in /proc; device files keep their own permissions


def reserve_pipe_descriptors() -> None:
    """Keep descriptors 3 and 4 for browsers, before this process opens anything else."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in _PIPE_DESCRIPTORS:
        if nothing != descriptor:
            os.dup2(nothing, descriptor, inheritable=False)
    if nothing not in _PIPE_DESCRIPTORS:
        os.close(nothing)


class BrowserProcess:
    """A running browser. `incoming` and `outgoing` are our ends of its pipes.

    Only a renderer process may start one: it takes descriptors 3 and 4, and its end kills all children of the process.
    """

    def __init__(self, options: RenderOptions, isolation: IsolationReport) -> None:
        self.home, self._home_lock = make_home(os.getpid())
        drops_root = os.geteuid() == 0
        if drops_root:
            os.chown(self.home, BROWSER_USER, BROWSER_USER)
        self.started = time.monotonic()
        self._messages, their_messages = os.pipe()
        os.set_blocking(self._messages, False)
        os.set_blocking(their_messages, False)  # a browser that writes more than we keep loses it, and does not wait
        with _pipes() as (self.incoming, self.outgoing):
            self.process = subprocess.Popen(  # noqa: S603 - the browser that the user named, or the system's
                browser_command(options, self.home, sandbox=not isolation.sandbox),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=their_messages,
                pass_fds=_PIPE_DESCRIPTORS,
                cwd=self.home,
                env=browser_environment(self.home),
                process_group=0,
                user=BROWSER_USER if drops_root else None,
                group=BROWSER_USER if drops_root else None,
                extra_groups=() if drops_root else None,
                # This process has one thread: what threads can break between fork and exec does not exist here.
                preexec_fn=_isolate_itself(options, isolation, self.home),  # noqa: PLW1509
            )
        os.close(their_messages)

    def collect_orphans(self) -> None:
        """Take the exit codes of the browser's grandchildren that became our children, so that none stays a zombie."""
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid == self.process.pid:
                return  # its own exit code is for `end`
            os.waitpid(ended.si_pid, 0)

    def end(self) -> str:
        """Kill the browser with all its processes, remove its HOME, and say how it had exited if it had."""
        return self._end(self.process.poll())

    def end_after_exit(self) -> str:
        """Like `end`, for a browser that closed its pipe: it exits just after."""
        try:
            return self._end(self.process.wait(_EXIT_SECONDS))
        except subprocess.TimeoutExpired:
            return self.end()

    def _end(self, code: int | None) -> str:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.incoming)
        os.close(self.outgoing)
        _end_adopted()
        os.close(self._home_lock)
        remove_homes(os.getpid())
        line = last_stderr_line(os.fdopen(self._messages, "rb"))
        if code is None:
            return "was ended"
        return describe_exit(code) + (f": {line}" if line and code >= 0 else "")


@contextlib.contextmanager
def _pipes() -> Iterator[tuple[int, int]]:
    """Yield our ends of two pipes, while the browser's ends are at descriptors 3 and 4."""
    their_read, our_write = os.pipe()
    our_read, their_write = os.pipe()
    ours = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_DESCRIPTOR) for end in (our_read, our_write)]
    try:
        for end, descriptor in zip((their_read, their_write), _PIPE_DESCRIPTORS, strict=True):
            os.dup2(end, descriptor)
        yield ours[0], ours[1]
    except BaseException:
        for end in ours:
            os.close(end)
        raise
    finally:
        for end in (their_read, our_write, our_read, their_write):
            os.close(end)
        reserve_pipe_descriptors()


def _isolate_itself(options: RenderOptions, isolation: IsolationReport, home: Path) -> Callable[[], None]:
    """Return the function that runs between fork and exec, as the user of the browser."""
    parent = os.getpid()
    version = 0 if isolation.files else landlock_version()
    program = Path(options.browser)
    allowed = [
        *((Path(name), READ) for name in _READABLE),
        *((Path(name), WRITE) for name in _WRITABLE),
        (program.parent, READ),
        (home, WRITE),
    ]

    def isolate() -> None:
        if not isolation.network:
            enter_empty_network()
        refuse_new_privileges()
        if version:
            restrict_files(version, allowed)
        disable_core_dumps()
        cap_data(options.memory << 20)
        resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))
        os.nice(_NICENESS)
        die_with_parent(parent)

    return isolate


def _end_adopted() -> None:
    """Kill and collect processes of the browser that became our children when it died."""
    deadline = time.monotonic() + _EXIT_SECONDS
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while children.exists() and (pids := children.read_text().split()):
        for pid in map(int, pids):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)
