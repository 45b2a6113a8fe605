"""The deployment examples: valid, consistent, and with commands that `gossamer` understands."""

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
def test_every_command_line_is_valid(arguments: list[str]) -> None:
    command = app.get_command(click.Context(app), arguments[0])
    assert command is not None
    command.make_context(arguments[0], arguments[1:])  # raises UsageError for an unknown option


def test_compose_services_refer_to_existing_services_and_volumes() -> None:
    loaded = compose()
    services = loaded["services"]
    for name, service in services.items():
        assert service.get("image"), name
        assert set(service.get("depends_on", ())) <= set(services), name
        mounted = {volume.partition(":")[0] for volume in service.get("volumes", ())}
        assert mounted <= set(loaded["volumes"]), name
    assert services["index"]["volumes"] == services["serve"]["volumes"], "the search service mounts the index"


def test_manifests_have_unique_names_and_all_kinds() -> None:
    names = [(item["kind"], item["metadata"]["name"], item["apiVersion"]) for item in manifests()]
    assert len(set(names)) == len(names)
    assert {kind for kind, _, _ in names} >= {"Secret", "Service", *WORKLOADS}


def test_selectors_match_the_labels_of_a_workload() -> None:
    pods = [item["spec"]["template"]["metadata"]["labels"] for item in manifests() if item["kind"] in WORKLOADS]
    for item in manifests():
        labels = item.get("spec", {}).get("selector", {})
        labels = labels.get("matchLabels", labels)
        assert not labels or labels in pods, item["metadata"]["name"]


def test_mounted_volumes_and_secrets_exist() -> None:
    secrets = {item["metadata"]["name"] for item in manifests() if item["kind"] == "Secret"}
    for item in manifests():
        if item["kind"] not in WORKLOADS:
            continue
        claims = [claim["metadata"]["name"] for claim in item["spec"].get("volumeClaimTemplates", ())]
        volumes = {volume["name"] for volume in _pod(item).get("volumes", ())}.union(claims)
        for container in _pod(item)["containers"]:
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
            assert {source["secretRef"]["name"] for source in container["envFrom"]} <= secrets
            assert container["resources"]["limits"]["memory"], "a parser must not use up the node"


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_have_the_sections_of_a_service(path: Path) -> None:
    parsed = unit(path)
    assert parsed.sections() == ["Unit", "Service", "Install"]
    assert parsed["Service"]["EnvironmentFile"] == "/etc/gossamer/environment"
    assert parsed["Service"]["ExecStart"].startswith("/opt/gossamer/bin/gossamer ")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for path in UNITS:  # systemd-analyze checks that the started program exists
        text = (
            path.read_text().replace("/opt/gossamer/bin/gossamer", sys.executable).replace("User=gossamer", "User=root")
        )
        (tmp_path / path.name).write_text(text)
    files = [str(tmp_path / path.name.replace("@.", "@1.")) for path in UNITS]
    completed = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *files], capture_output=True, text=True, check=False, timeout=60
    )
    ours = [line for line in completed.stderr.splitlines() if "gossamer" in line]
    assert (completed.returncode, ours) == (0, []), completed.stderr
