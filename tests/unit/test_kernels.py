"""The choice between the native kernels and Python, and how the commands report it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from conftest import skip_without_native
from gossamer.kernels import INTERFACE, load_kernels, native
from gossamer.processes.start import environment_without_secrets

if TYPE_CHECKING:
    from pathlib import Path

OTHER_VERSION = f"INTERFACE = {INTERFACE + 1}\n"
THIS_VERSION = f"INTERFACE = {INTERFACE}\n"


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the first folder of the import path, and forget the native package that this process has loaded."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == "gossamer_native"]:
        monkeypatch.delitem(sys.modules, name)
    return folder


def run_gossamer(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gossamer", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | variables)


def test_the_native_package_of_this_interface_is_used(packages: Path) -> None:
    (packages / "gossamer_native.py").write_text(THIS_VERSION)
    choice = load_kernels({})
    assert choice.native is not None
    assert (choice.why_not, choice.is_mismatch) == ("", False)


def test_the_built_package_has_the_interface_of_this_version() -> None:
    if native is None:
        skip_without_native()
    assert native.INTERFACE == INTERFACE


def test_the_switch_turns_the_native_package_off(packages: Path) -> None:
    (packages / "gossamer_native.py").write_text(THIS_VERSION)
    choice = load_kernels({"GOSSAMER_NATIVE": "0"})
    assert choice == (None, "GOSSAMER_NATIVE=0 switches the native kernels off", False)
    assert load_kernels({"GOSSAMER_NATIVE": "1"}).native is not None


def test_without_the_native_package_python_does_the_work(packages: Path) -> None:
    (packages / "gossamer_native.py").write_text("raise ModuleNotFoundError('gossamer_native')\n")
    choice = load_kernels({})
    assert choice == (None, "the package gossamer-native is not installed; `make native` builds it", False)


def test_a_native_package_of_another_interface_is_not_used(packages: Path) -> None:
    (packages / "gossamer_native.py").write_text(OTHER_VERSION)
    choice = load_kernels({})
    assert choice.native is None
    assert choice.is_mismatch
    assert choice.why_not == (
        f"the package gossamer-native has the interface {INTERFACE + 1}, not {INTERFACE}; `make native` builds it"
    )


def test_one_line_reports_a_native_package_of_another_interface(packages: Path, tmp_path: Path) -> None:
    (packages / "gossamer_native.py").write_text(OTHER_VERSION)
    web = str(tmp_path / "web")
    variables = {"PYTHONPATH": str(packages), "GOSSAMER_NATIVE": ""}
    crawl = run_gossamer("crawl", "http://127.0.0.1:9/", "--store", web, "--quiet", **variables)
    index = run_gossamer("index", "--store", web, **variables)
    status = run_gossamer("status", "--store", web, **variables)
    line = "The native kernels are not used: the package gossamer-native has the interface"
    assert [each.stderr.count(line) for each in (crawl, index, status)] == [1, 1, 0]


def test_config_and_status_say_which_kernels_are_in_use(tmp_path: Path) -> None:
    web = str(tmp_path / "web")
    run_gossamer("crawl", "http://127.0.0.1:9/", "--store", web, "--quiet")
    has_native = find_spec("gossamer_native") is not None
    for switch, expected in (("", has_native), ("0", False)):
        status = run_gossamer("status", "--store", web, "--json", GOSSAMER_NATIVE=switch)
        config = run_gossamer("config", "show", "--store", web, "--json", GOSSAMER_NATIVE=switch)
        text = run_gossamer("config", "show", "--store", web, GOSSAMER_NATIVE=switch)
        assert json.loads(status.stdout)["native"] is expected
        assert json.loads(config.stdout)["native"] is expected
        assert text.stderr.startswith("Kernels: native." if expected else "Kernels: Python; ")


def test_processes_with_a_cleaned_environment_inherit_the_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_NATIVE", "0")
    assert load_kernels(environment_without_secrets()).native is None
