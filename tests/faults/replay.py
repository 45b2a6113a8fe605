"""Replay recorded operations on a model of a disk, and make the folder that a crash would leave.

A killed process loses nothing that it has written. A power cut can lose everything that no sync has made durable:
the data of a file since its last sync, and names in a directory since the last sync of the directory. Data may get
lost in any combination, sector by sector. Names get lost from the last one back, as file systems with a journal do.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from faults.operations import Create, MakeDirectory, Mark, Operation, Remove, Rename, Sync, Truncate, Write

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

SHARED_MEMORY = "-shm"  # SQLite rebuilds this file after a crash, and never syncs it
SECTOR = 512  # bytes; a disk writes a sector completely or not at all
Tree = dict[str, bytes | None]  # path -> content; None for a directory


@dataclass
class StoredFile:
    """A file: its content for running processes, and what a power cut leaves of it."""

    content: bytearray = field(default_factory=bytearray)
    durable: bytes = b""
    unsynced: list[Write | Truncate] = field(default_factory=list)

    def apply(self, change: Write | Truncate) -> None:
        _apply(self.content, change)
        self.unsynced.append(change)

    def sync(self) -> None:
        self.durable = bytes(self.content)
        self.unsynced.clear()

    def after_power_cut(self, chance: random.Random | None) -> bytes:
        """Return the durable content, with a random part of the later writes."""
        left = bytearray(self.durable)
        for change in self.unsynced if chance else ():
            assert chance is not None
            for part in _sectors(change):
                if chance.random() < 0.5:
                    _apply(left, part)
        return bytes(left)


@dataclass
class StoredDirectory:
    """A directory: its names for running processes, and the changes of names that no sync has made durable."""

    names: dict[str, StoredFile | StoredDirectory] = field(default_factory=dict)
    durable: dict[str, StoredFile | StoredDirectory] = field(default_factory=dict)
    unsynced: list[dict[str, StoredFile | StoredDirectory | None]] = field(default_factory=list)  # None: removed

    def change(self, changes: dict[str, StoredFile | StoredDirectory | None]) -> None:
        """Change names, all of them or none: a rename has two."""
        _rename(self.names, changes)
        self.unsynced.append(changes)

    def sync(self) -> None:
        self.durable = dict(self.names)
        self.unsynced.clear()

    def after_power_cut(self, chance: random.Random | None) -> dict[str, StoredFile | StoredDirectory]:
        left = dict(self.durable)
        for changes in self.unsynced[: chance.randint(0, len(self.unsynced))] if chance else ():
            _rename(left, changes)
        return left


def _rename(
    names: dict[str, StoredFile | StoredDirectory], changes: dict[str, StoredFile | StoredDirectory | None]
) -> None:
    for name, node in changes.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


def _apply(content: bytearray, change: Write | Truncate) -> None:
    end = change.size if isinstance(change, Truncate) else change.offset + len(change.data)
    content.extend(bytes(max(0, end - len(content))))
    if isinstance(change, Truncate):
        del content[change.size :]
    else:
        content[change.offset : end] = change.data


def _sectors(change: Write | Truncate) -> list[Write | Truncate]:
    if isinstance(change, Truncate):
        return [change]
    first = SECTOR - change.offset % SECTOR
    cuts = [0, *range(first, len(change.data), SECTOR), len(change.data)]
    return [
        Write(change.path, change.offset + start, change.data[start:end])
        for start, end in pairwise(cuts)
        if start < end
    ]


class Disk:
    """A folder whose operations are replayed one by one."""

    def __init__(self) -> None:
        self._root = StoredDirectory()

    def apply(self, operation: Operation) -> None:
        """Replay an operation. One that the kernel refused, such as removing a missing file, does nothing."""
        if isinstance(operation, Mark):
            return
        parent, name = self._find_parent(operation.path)
        node = self._root if operation.path == "." else parent.names.get(name) if parent else None
        if isinstance(operation, Sync) and node is not None:
            node.sync()
        elif isinstance(operation, Write | Truncate):
            assert isinstance(node, StoredFile), operation.path
            node.apply(operation)
        elif parent is not None:
            self._change_names(operation, parent, name, node)

    def _change_names(
        self, operation: Operation, parent: StoredDirectory, name: str, node: StoredFile | StoredDirectory | None
    ) -> None:
        match operation:
            case Create(path, empty):
                if node is None:
                    parent.change({name: StoredFile()})
                elif empty and isinstance(node, StoredFile):
                    node.apply(Truncate(path, 0))
            case MakeDirectory() if node is None:
                parent.change({name: StoredDirectory()})
            case Remove() if node is not None and not (isinstance(node, StoredDirectory) and node.names):
                parent.change({name: None})
            case Rename(_, new) if node is not None:
                parent.change({name: None, PurePosixPath(new).name: node})

    def _find_parent(self, path: str) -> tuple[StoredDirectory | None, str]:
        *folders, name = PurePosixPath(path).parts or ("",)
        node: StoredFile | StoredDirectory | None = self._root
        for folder in folders:
            node = node.names.get(folder) if isinstance(node, StoredDirectory) else None
        return (node if isinstance(node, StoredDirectory) else None), name

    def after_kill(self) -> Tree:
        """Return what a killed process leaves: everything it wrote."""
        return _collect(self._root, lambda node: node.names, lambda node: bytes(node.content))

    def after_power_cut(self, chance: random.Random | None = None) -> Tree:
        """Return what a power cut leaves: the durable part alone, or with a random part of the rest."""
        return _collect(
            self._root, lambda node: node.after_power_cut(chance), lambda node: node.after_power_cut(chance)
        )


def _collect(
    directory: StoredDirectory,
    names: Callable[[StoredDirectory], dict[str, StoredFile | StoredDirectory]],
    content: Callable[[StoredFile], bytes],
    prefix: str = "",
) -> Tree:
    tree: Tree = {}
    for name, node in sorted(names(directory).items()):
        path = f"{prefix}{name}"
        if isinstance(node, StoredFile):
            tree[path] = content(node)
        else:
            tree[path] = None
            tree |= _collect(node, names, content, f"{path}/")
    return tree


def write_tree(tree: Tree, folder: Path) -> None:
    """Write files and directories into an empty folder."""
    for path, content in tree.items():
        if content is None:
            (folder / path).mkdir()
        else:
            (folder / path).write_bytes(content)


def read_tree(folder: Path) -> Tree:
    """Return files and directories of a folder."""
    return {
        str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


def digest(tree: Tree) -> bytes:
    """Return a digest that identifies a tree."""
    total = hashlib.blake2b(digest_size=16)
    for path, content in tree.items():
        total.update(f"{path}\0{-1 if content is None else len(content)}\0".encode())
        total.update(content or b"")
    return total.digest()
