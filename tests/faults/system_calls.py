"""Watch the system calls of a process and its children, and let single ones fail (Linux, `seccomp_unotify(2)`).

The kernel holds each watched call until this process has decided about it. That reaches Python, SQLite and Tantivy
alike, because all of them end in the kernel. It needs no root, no compiler and no debugger.
"""

from __future__ import annotations

import ctypes
import faulthandler
import fcntl
import os
import platform
import select
import signal
import socket
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

# Machine -> audit architecture, number of seccomp(2), and numbers of the watched calls.
MACHINES: dict[str, tuple[int, int, dict[str, int]]] = {
    "x86_64": (0xC000003E, 317, {
        "read": 0, "write": 1, "open": 2, "mmap": 9, "brk": 12, "pread64": 17, "pwrite64": 18, "writev": 20,
        "msync": 26, "sendfile": 40, "socket": 41, "fsync": 74, "fdatasync": 75, "truncate": 76, "ftruncate": 77,
        "rename": 82, "mkdir": 83, "rmdir": 84, "creat": 85, "link": 86, "unlink": 87, "symlink": 88, "openat": 257,
        "mkdirat": 258, "unlinkat": 263, "renameat": 264, "linkat": 265, "symlinkat": 266, "sync_file_range": 277,
        "fallocate": 285, "pipe2": 293, "pwritev": 296, "renameat2": 316, "copy_file_range": 326, "pwritev2": 328,
        "openat2": 437,
    }),
    "aarch64": (0xC00000B7, 277, {
        "mkdirat": 34, "unlinkat": 35, "symlinkat": 36, "linkat": 37, "renameat": 38, "truncate": 45,
        "ftruncate": 46, "fallocate": 47, "openat": 56, "pipe2": 59, "read": 63, "write": 64, "writev": 66,
        "pread64": 67, "pwrite64": 68, "pwritev": 70, "sendfile": 71, "fsync": 82, "fdatasync": 83,
        "sync_file_range": 84, "socket": 198, "brk": 214, "mmap": 222, "msync": 227, "renameat2": 276,
        "copy_file_range": 285, "pwritev2": 287, "openat2": 437,
    }),
}  # fmt: skip

PR_SET_NO_NEW_PRIVS = 38
SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_NEW_LISTENER = 8
RET_ALLOW, RET_USER_NOTIF = 0x7FFF0000, 0x7FC00000
NOTIF_RECV, NOTIF_SEND, NOTIF_ID_VALID = 0xC0502100, 0xC0182101, 0x80082102
FLAG_CONTINUE = 1
NOTIFICATION = struct.Struct("=QIIiIQ6Q")  # id, thread, flags, number, architecture, instruction, arguments
RESPONSE = struct.Struct("=QqiI")  # id, value, error, flags
LOAD_WORD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06  # instructions of the classic packet filter
NUMBER_OFFSET, ARCHITECTURE_OFFSET = 0, 4  # in struct seccomp_data
AT_FDCWD = -100
MAX_PATH = 4096  # bytes
HUNG = -1000  # the status of a process that has not ended in time
ABORT_SECONDS = 10  # from SIGABRT to SIGKILL
SECOND = 1_000  # milliseconds


# Calls that change files or their names, or write through memory: a recording needs all of them.
CHANGING = [
    "write", "open", "mmap", "pwrite64", "writev", "sendfile", "fsync", "fdatasync", "truncate", "ftruncate", "rename",
    "mkdir", "rmdir", "creat", "link", "unlink", "symlink", "openat", "mkdirat", "unlinkat", "renameat", "linkat",
    "symlinkat", "fallocate", "pwritev", "renameat2", "copy_file_range", "pwritev2", "openat2",
]  # fmt: skip


def supported() -> bool:
    """Return whether the calls of this machine are known."""
    return platform.system() == "Linux" and platform.machine() in MACHINES


class SystemCall(NamedTuple):
    """A call that the kernel holds until it is decided."""

    thread: int
    name: str
    arguments: tuple[int, ...]

    def process(self) -> int:
        """Return the process of the thread."""
        with Path(f"/proc/{self.thread}/status").open() as status:
            return next(int(line.split()[1]) for line in status if line.startswith("Tgid:"))

    def read(self, address: int, size: int) -> bytes:
        """Return memory of the caller."""
        with Path(f"/proc/{self.thread}/mem").open("rb", buffering=0) as memory:
            return os.pread(memory.fileno(), size, address)

    def handle(self, position: int = 0) -> int:
        """Return an argument that is a file descriptor."""
        return ctypes.c_int(self.arguments[position] & 0xFFFFFFFF).value

    def file(self, position: int = 0) -> Path | None:
        """Return the path of an open file; None if it is no file."""
        try:
            target = Path(f"/proc/{self.thread}/fd/{self.handle(position)}").readlink()
        except OSError:  # the caller gave a closed or wrong descriptor
            return None
        return target if target.is_absolute() else None

    def path(self, position: int, directory: int | None = None) -> Path:
        """Return the path that an argument names; `directory` is the position of its directory's descriptor."""
        address = self.arguments[position]
        to_page_end = 4096 - address % 4096  # reading past the caller's last page fails
        raw = self.read(address, to_page_end)
        if b"\0" not in raw:
            raw += self.read(address + to_page_end, MAX_PATH)
        name = Path(os.fsdecode(raw.partition(b"\0")[0]))
        if name.is_absolute():
            return name
        handle = AT_FDCWD if directory is None else self.handle(directory)
        base = Path(f"/proc/{self.thread}/cwd" if handle == AT_FDCWD else f"/proc/{self.thread}/fd/{handle}").readlink()
        return Path(os.path.normpath(base / name))


def watch_own_calls(names: list[str]) -> int:
    """Hold these calls of this process and its later children; return the descriptor that decides about them."""
    architecture, seccomp, numbers = MACHINES[platform.machine()]
    wanted = [numbers[name] for name in names if name in numbers]
    program = [(LOAD_WORD, 0, 0, ARCHITECTURE_OFFSET), (JUMP_EQUAL, 1, 0, architecture), (RETURN, 0, 0, RET_ALLOW)]
    program += [(LOAD_WORD, 0, 0, NUMBER_OFFSET)]
    program += [(JUMP_EQUAL, len(wanted) - at, 0, number) for at, number in enumerate(wanted)]
    program += [(RETURN, 0, 0, RET_ALLOW), (RETURN, 0, 0, RET_USER_NOTIF)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in program))
    filter_ = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl failed")
    listener: int = libc.syscall(seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, filter_)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp failed")
    return listener


def run_watched(
    names: list[str], run: Callable[[], int], decide: Callable[[SystemCall], int], seconds: float,
    prepare: Callable[[], None] = lambda: None,
) -> int:  # fmt: skip
    """Run a function in a child process; return its exit status, as `os.waitstatus_to_exitcode` gives it, or HUNG.

    `decide` gets each watched call of the child and its children. It returns 0 to let the call happen, else the error
    number that the call returns instead. `prepare` runs in the child before anything is watched.
    """
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        prepare()
        _run_child(names, run, theirs)
    theirs.close()
    with ours:
        _, [listener], _, _ = socket.recv_fds(ours, 1, 1)
    has_ended = False
    try:
        has_ended = supervise(listener, decide, seconds)
        if not has_ended:
            os.kill(child, signal.SIGABRT)  # it prints where it hangs
            supervise(listener, decide, ABORT_SECONDS)
    finally:
        os.close(listener)  # calls that are still held now fail with ENOSYS
        if not has_ended:
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(status) if has_ended else HUNG


def _run_child(names: list[str], run: Callable[[], int], parent: socket.socket) -> None:
    status = 70  # a fault of this helper
    try:
        faulthandler.enable(2)
        listener = watch_own_calls(names)
        socket.send_fds(parent, [b"\0"], [listener])
        os.close(listener)
        parent.close()
        status = run()
    finally:
        os._exit(status)


def supervise(listener: int, decide: Callable[[SystemCall], int], seconds: float) -> bool:
    """Decide about calls until all callers have ended; return False if they have not ended after these seconds."""
    names = {number: name for name, number in MACHINES[platform.machine()][2].items()}
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    deadline = time.monotonic() + seconds
    while events := poll.poll(max(0.0, deadline - time.monotonic()) * SECOND):
        if events[0][1] & select.POLLIN == 0:
            return True  # POLLHUP: the last caller has ended
        buffer = bytearray(NOTIFICATION.size)
        try:
            fcntl.ioctl(listener, NOTIF_RECV, buffer)
        except FileNotFoundError:  # the caller was killed meanwhile
            continue
        number, thread, _, call, _, _, *arguments = NOTIFICATION.unpack(buffer)
        try:
            error = decide(SystemCall(thread, names[call], tuple(arguments)))
        except OSError:
            if _is_held(listener, number):
                raise
            continue  # the caller was killed, so /proc no longer has it
        response = RESPONSE.pack(number, 0, -error, 0 if error else FLAG_CONTINUE)
        try:
            fcntl.ioctl(listener, NOTIF_SEND, response)
        except FileNotFoundError:
            continue
    return False


def _is_held(listener: int, number: int) -> bool:
    """Return whether the kernel still holds the call of a notification."""
    try:
        fcntl.ioctl(listener, NOTIF_ID_VALID, struct.pack("=Q", number))
    except FileNotFoundError:
        return False
    return True
