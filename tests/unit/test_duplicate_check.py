"""checks/duplicates.py finds runs of identical lines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "checks" / "duplicates.py"


def lines(first: int, number: int) -> str:
    return "".join(f"value_{line} = {line}\n" for line in range(first, first + number))


def run_check(root: Path, files: dict[str, str]) -> tuple[int, str]:
    """Run the check in a repository of these files."""
    (root / "checks").mkdir(parents=True)
    (root / "checks" / SCRIPT.name).write_bytes(SCRIPT.read_bytes())
    for folder in ("src", "tests"):
        (root / folder).mkdir()
    for name, text in files.items():
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    done = subprocess.run([sys.executable, root / "checks" / SCRIPT.name], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_a_run_of_twelve_lines_in_src_is_found_whole(tmp_path: Path) -> None:
    files = {"src/a.py": f"one = 1\n{lines(0, 14)}", "src/b.py": f"{lines(0, 7)}\n    {lines(7, 7)}two = 2\n"}
    code, output = run_check(tmp_path, files)
    assert (code, output) == (1, "14 lines stand twice: src/a.py:2 and src/b.py:1\n")


def test_shorter_runs_and_other_kinds_of_files_pass(tmp_path: Path) -> None:
    text = lines(0, 11) + "end = 1\n"
    files = {"src/a.py": text, "src/b.py": lines(0, 11), "src/a.json": lines(0, 50), "src/b.json": lines(0, 50)}
    assert run_check(tmp_path, files) == (0, "")


def test_tests_may_share_up_to_nineteen_lines(tmp_path: Path) -> None:
    files = {"tests/a.py": lines(0, 19), "tests/b.py": lines(0, 19) + "end = 1\n"}
    assert run_check(tmp_path / "short", files) == (0, "")
    files = {"tests/a.py": lines(0, 20), "tests/b.py": lines(0, 20)}
    assert run_check(tmp_path / "long", files)[0] == 1


def test_a_run_that_stands_twice_in_one_file_is_found(tmp_path: Path) -> None:
    code, output = run_check(tmp_path, {"src/a.sql": lines(0, 12) + "end\n" + lines(0, 12)})
    assert (code, output) == (1, "12 lines stand twice: src/a.sql:1 and src/a.sql:14\n")
