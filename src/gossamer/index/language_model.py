"""The model of py3langid, unpacked once per installation and then mapped into memory.

    python -P -m gossamer.index.language_model

py3langid ships its model as LZMA, which takes 0.6 s and 120 MB to unpack: too much for a crawl of a few seconds. So
`make`, or the first process that needs the model, writes its arrays (69 MB) beside the compiled modules of this
package. Later processes map these files in 10 ms. The rules are those of compiled modules: the name holds size and time
of the original, `sys.pycache_prefix` and `PYTHONDONTWRITEBYTECODE` apply, and without write access or space every
process unpacks the model.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

if TYPE_CHECKING:
    from numpy.typing import NDArray

ARRAYS = ("nb_ptc", "nb_pc", "tk_nextmove", "tk_row", "tk_output")  # attributes of `LanguageIdentifier`
CLASSES = "classes.json"
PREFIX = "py3langid-"


def load_identifier(folder: Path | None = None, *, write: bool = not sys.dont_write_bytecode) -> LanguageIdentifier:
    """Return the language detector; keep its model unpacked in a folder (by default in that of compiled modules)."""
    model = Path(MODEL_DIR, MODEL_FILE)
    folder = Path(importlib.util.cache_from_source(__file__)).parent if folder is None else folder
    unpacked = folder / f"{PREFIX}{model.stat().st_size}-{model.stat().st_mtime_ns}"
    with suppress(OSError):  # nothing is unpacked yet, or it cannot be read
        return _map_identifier(unpacked)
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    if write:
        with suppress(OSError):  # no write access, no space, or another process was faster
            _write_arrays(identifier, unpacked)
    return identifier


def _map_identifier(unpacked: Path) -> LanguageIdentifier:
    ptc, pc, nextmove, row, output = (_map_array(unpacked, name) for name in ARRAYS)
    classes = json.loads((unpacked / CLASSES).read_bytes())
    # The detector reads single elements of these, and a memoryview returns them as Python's own numbers.
    views = nextmove.data, output.data
    return LanguageIdentifier(ptc, pc, classes, *views, norm_probs=True, tk_row=row.tolist())


def _map_array(unpacked: Path, name: str) -> NDArray[Any]:
    array: NDArray[Any] = np.load(unpacked / f"{name}.npy", mmap_mode="r", allow_pickle=False)
    return np.asarray(array)


def _write_arrays(identifier: LanguageIdentifier, unpacked: Path) -> None:
    """Write the arrays to a new folder, and rename it when all are on the disk."""
    unpacked.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{PREFIX}new-", dir=unpacked.parent))
    try:
        draft.chmod(0o755)  # other users map the files too
        (draft / CLASSES).write_text(json.dumps(identifier.nb_classes))
        for name in ARRAYS:
            with (draft / f"{name}.npy").open("wb") as file:
                np.save(file, np.asarray(getattr(identifier, name)), allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())  # a power cut must not leave the name without the content
        for old in unpacked.parent.glob(f"{PREFIX}[0-9]*"):  # of another version
            shutil.rmtree(old, ignore_errors=True)
        draft.rename(unpacked)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


if __name__ == "__main__":
    load_identifier(write=True)
