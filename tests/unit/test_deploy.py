"""The examples for deployment: they parse, hang together, and give `gossamer` only what it understands."""

from __future__ import annotations

import configparser
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from gossamer.cli.main import app

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
WORKLOADS = {"Deployment", "Job", "StatefulSet"}


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return loaded


def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))


def containers() -> list[dict[str, Any]]:
    return [one for item in manifests() if item["kind"] in WORKLOADS for one in _pod(item)["containers"]]


def _pod(workload: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = workload["spec"]["template"]["spec"]
    return pod


def unit(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[method-assign,assignment]
    parser.read(path)
    return parser


COMMANDS = [
    *(shlex.split(unit(path)["Service"]["ExecStart"])[1:] for path in UNITS),
    *(service["command"] for name, service in compose()["services"].items() if name != "database"),
    *(container["args"] for container in containers()),
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_every_command_line_is_understood(arguments: list[str]) -> None:
    command = app.get_command(click.Context(app), arguments[0])
    assert command is not None
    command.make_context(arguments[0], arguments[1:])  # raises UsageError for what it does not know


def test_compose_services_name_only_what_is_there() -> None:
    loaded = compose()
    services = loaded["services"]
    for name, service in services.items():
        assert service.get("image"), name
        assert set(service.get("depends_on", ())) <= set(services), name
        mounted = {volume.partition(":")[0] for volume in service.get("volumes", ())}
        assert mounted <= set(loaded["volumes"]), name
    assert services["index"]["volumes"] == services["serve"]["volumes"], "who searches sees the index"


def test_manifests_have_what_every_object_needs() -> None:
    names = [(item["kind"], item["metadata"]["name"], item["apiVersion"]) for item in manifests()]
    assert len(set(names)) == len(names)
    assert {kind for kind, _, _ in names} >= {"Secret", "Service", *WORKLOADS}


def test_selectors_choose_the_pods_of_their_workload() -> None:
    pods = [item["spec"]["template"]["metadata"]["labels"] for item in manifests() if item["kind"] in WORKLOADS]
    for item in manifests():
        labels = item.get("spec", {}).get("selector", {})
        labels = labels.get("matchLabels", labels)
        assert not labels or labels in pods, item["metadata"]["name"]


def test_volumes_and_secrets_that_are_used_are_there() -> None:
    secrets = {item["metadata"]["name"] for item in manifests() if item["kind"] == "Secret"}
    for item in manifests():
        if item["kind"] not in WORKLOADS:
            continue
        claims = [claim["metadata"]["name"] for claim in item["spec"].get("volumeClaimTemplates", ())]
        there = {volume["name"] for volume in _pod(item).get("volumes", ())}.union(claims)
        for container in _pod(item)["containers"]:
            assert {mount["name"] for mount in container["volumeMounts"]} <= there
            assert {source["secretRef"]["name"] for source in container["envFrom"]} <= secrets
            assert container["resources"]["limits"]["memory"], "a parser must not take the whole node"


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_have_the_sections_of_a_service(path: Path) -> None:
    parsed = unit(path)
    assert parsed.sections() == ["Unit", "Service", "Install"]
    assert parsed["Service"]["EnvironmentFile"] == "/etc/gossamer/environment"
    assert parsed["Service"]["ExecStart"].startswith("/opt/gossamer/bin/gossamer ")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_finds_nothing_to_complain_about(tmp_path: Path) -> None:
    for path in UNITS:  # of what a unit starts it wants to see the file
        text = (
            path.read_text().replace("/opt/gossamer/bin/gossamer", sys.executable).replace("User=gossamer", "User=root")
        )
        (tmp_path / path.name).write_text(text)
    files = [str(tmp_path / path.name.replace("@.", "@1.")) for path in UNITS]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *files], capture_output=True, text=True, check=False, timeout=60
    )
    ours = [line for line in done.stderr.splitlines() if "gossamer" in line]
    assert (done.returncode, ours) == (0, []), done.stderr
