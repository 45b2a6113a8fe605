"""Record what a command and its children do to the files below a folder: writes, syncs, new and removed names.

    python tests/faults/recording.py FOLDER RECORD ARGUMENTS

runs `gossamer ARGUMENTS` and writes the operations to the file RECORD. `faults.replay` replays them.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from faults.operations import Create, MakeDirectory, Mark, Remove, Rename, Sync, Truncate, Write
from faults.replay import SHARED_MEMORY
from faults.system_calls import CHANGING, SystemCall, run_watched
from helpers.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from faults.operations import Operation

MARKED_COMMAND = Path(__file__).with_name("marked_command.py")
MARKS = "MARKS"  # variable with the file that `marked_command` appends its marks to

IO_VECTOR = struct.Struct("@PN")
MAP_SHARED, PROT_WRITE = 1, 2
NAMELESS = " (deleted)"  # the kernel's suffix for an open file without a name


class Recorder:
    """Turns system calls into operations on the files below a folder."""

    def __init__(self, folder: Path, marks: Path) -> None:
        self._folder = folder.resolve()
        self._marks = marks.resolve()
        self.operations: list[Operation] = []
        self._readers: dict[str, Callable[[SystemCall], Operation | None]] = {
            "open": lambda call: self._open(call.path(0), call.arguments[1]),
            "openat": lambda call: self._open(call.path(1, 0), call.arguments[2]),
            "creat": lambda call: self._open(call.path(0), os.O_CREAT | os.O_TRUNC),
            "write": lambda call: self._write(call, _position(call), call.read(call.arguments[1], call.arguments[2])),
            "writev": lambda call: self._write(call, _position(call), _gather(call)),
            "pwrite64": lambda call: self._write(
                call, call.arguments[3], call.read(call.arguments[1], call.arguments[2])
            ),
            "pwritev": lambda call: self._write(call, call.arguments[3], _gather(call)),
            "ftruncate": lambda call: self._on_file(call, lambda path: Truncate(path, call.arguments[1])),
            "fsync": lambda call: self._on_file(call, Sync),
            "fdatasync": lambda call: self._on_file(call, Sync),
            "rename": lambda call: self._rename(call.path(0), call.path(1)),
            "renameat": lambda call: self._rename(call.path(1, 0), call.path(3, 2)),
            "renameat2": lambda call: self._rename(call.path(1, 0), call.path(3, 2)),
            "unlink": lambda call: self._named(call.path(0), Remove),
            "unlinkat": lambda call: self._named(call.path(1, 0), Remove),
            "rmdir": lambda call: self._named(call.path(0), Remove),
            "mkdir": lambda call: self._named(call.path(0), MakeDirectory),
            "mkdirat": lambda call: self._named(call.path(1, 0), MakeDirectory),
            "mmap": self._check_mapping,
        }

    def note(self, call: SystemCall) -> int:
        """Note a call, and let it happen."""
        reader = self._readers.get(call.name, self._refuse_unknown)
        operation = reader(call)
        if operation is not None:
            self.operations.append(operation)
        return 0

    def _name(self, path: Path) -> str | None:
        """Return the path below the folder; None if it is elsewhere or is not replayed."""
        if not path.is_relative_to(self._folder) or path.name.endswith(SHARED_MEMORY):
            return None
        return str(path.relative_to(self._folder))

    def _named(self, path: Path, make: Callable[[str], Operation]) -> Operation | None:
        name = self._name(path)
        return make(name) if name is not None else None

    def _on_file(self, call: SystemCall, make: Callable[[str], Operation]) -> Operation | None:
        path = call.file()
        return self._named(path, make) if path is not None and not path.name.endswith(NAMELESS) else None

    def _open(self, path: Path, flags: int) -> Operation | None:
        if not flags & (os.O_CREAT | os.O_TRUNC) or (flags & os.O_EXCL and path.exists()):
            return None
        return self._named(path, lambda name: Create(name, bool(flags & os.O_TRUNC)))

    def _write(self, call: SystemCall, offset: int, data: bytes) -> Operation | None:
        if call.file() == self._marks:
            return Mark(data.decode().strip())
        return self._on_file(call, lambda name: Write(name, offset, data))

    def _rename(self, old: Path, new: Path) -> Operation | None:
        name, new_name = self._name(old), self._name(new)
        if name is None and new_name is None:
            return None
        assert name is not None, f"{old} comes from elsewhere"
        assert new_name is not None, f"{new} goes elsewhere"
        assert old.parent == new.parent, f"{old} goes to another directory"
        return Rename(name, new_name)

    def _check_mapping(self, call: SystemCall) -> None:
        """Fail if a file is written through memory, which no record shows."""
        protection, flags = call.arguments[2], call.arguments[3]
        if protection & PROT_WRITE and flags & MAP_SHARED:
            path = call.file(4)
            assert path is None or self._name(path) is None, f"{path} is mapped for writing"

    def _refuse_unknown(self, call: SystemCall) -> None:
        for position in range(3):
            path = call.file(position)
            assert path is None or self._name(path) is None, f"{call.name} on {path} is not recorded"


def _position(call: SystemCall) -> int:
    """Return the offset at which the next write of an open file goes."""
    try:
        lines = Path(f"/proc/{call.thread}/fdinfo/{call.handle()}").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        if int(fields["flags"], 8) & os.O_APPEND:
            return Path(f"/proc/{call.thread}/fd/{call.handle()}").stat().st_size
        return int(fields["pos"])
    except OSError:  # a pipe or a socket that is closed meanwhile
        return 0


def _gather(call: SystemCall) -> bytes:
    vectors = call.read(call.arguments[1], IO_VECTOR.size * call.arguments[2])
    return b"".join(call.read(address, size) for address, size in IO_VECTOR.iter_unpack(vectors))


def record(folder: Path, marks: Path, arguments: list[str]) -> list[Operation]:
    """Run `gossamer ARGUMENTS` and return its operations below the folder."""
    recorder = Recorder(folder, marks)

    def run() -> int:
        os.environ[MARKS] = str(marks)
        os.execv(sys.executable, [sys.executable, str(MARKED_COMMAND), *arguments])

    status = run_watched(CHANGING, run, recorder.note, PATIENCE)
    assert status == 0, f"gossamer {' '.join(arguments)} ended with {status}"
    return recorder.operations


if __name__ == "__main__":
    target = Path(sys.argv[2])
    target.write_bytes(pickle.dumps(record(Path(sys.argv[1]), target.with_suffix(".marks"), sys.argv[3:])))
