"""Options that commands share, and the web and settings that these options name.

A shared option has the same name and behaviour in every command.
"""

from __future__ import annotations

import functools
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gossamer.basics.locations import UNREADABLE_URL, is_shared, local_directory, parse_location
from gossamer.cli.hints import remember_store
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gossamer.basics.locations import DatabaseUrl
    from gossamer.config import LoadedSettings
    from gossamer.config.describe import Setting
    from gossamer.store.protocol import Store


def _parse_url(location: str) -> DatabaseUrl | None:
    """Return the parts of a database URL, None for a directory.

    Raises `UsageError` if the password cannot be separated from the rest: no message may show it.
    """
    if not is_shared(location):
        return None
    if (url := parse_location(location)) is None:
        raise UsageError(UNREADABLE_URL)
    return url


def check_location(_context: click.Context, _option: click.Parameter, location: str) -> str:
    """Return a location unchanged; refuse a URL that cannot be parsed, before a message shows it."""
    _parse_url(location)
    return location


def _named_store(context: click.Context, _option: click.Parameter, location: str) -> str:
    """Return a location without its password, and remember it for the commands that messages name."""
    location = _without_password(location)
    remember_store(context, location)
    return location


def _without_password(location: str) -> str:
    """Return a location without its password, and put the password into PGPASSWORD.

    PostgreSQL's client library reads it there, and no message or log shows it. A password given as an argument stays
    visible in the list of processes; this process cannot change that.
    """
    if (url := _parse_url(location)) is None:
        return location
    if url.password is not None:
        os.environ["PGPASSWORD"] = url.password
        if os.environ.get("GOSSAMER_STORE") == location:
            os.environ["GOSSAMER_STORE"] = url.without_password
    return url.without_password


store_option = click.option(
    "--store",
    envvar="GOSSAMER_STORE",
    default="web",
    show_default=True,
    metavar="WEB",
    callback=_named_store,
    help="The web: a directory, or postgresql://USER@HOST/DATABASE?schema=NAME. Also GOSSAMER_STORE.",
)
config_option = click.option(
    "--config",
    envvar="GOSSAMER_CONFIG",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Settings file to use instead of the web's own. Also GOSSAMER_CONFIG.",
)


def _set_index_url(_context: click.Context, _option: click.Parameter, url: str | None) -> None:
    """Set GOSSAMER_INDEX_URL from the flag, so that this process and its children open the same index."""
    if url is not None:
        os.environ["GOSSAMER_INDEX_URL"] = url


index_option = click.option(
    "--index-url",
    expose_value=False,
    callback=_set_index_url,
    metavar="URL",
    help="OpenSearch cluster and name of the index there. Also GOSSAMER_INDEX_URL, index.url.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
limit_option = click.option(
    "--limit", "-n", type=click.IntRange(min=0), metavar="N", help="Show at most N rows; 0: all."
)


SHORT_FLAGS = {"crawl.max_pages": "-n"}


def settings_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add a flag for every setting that has one; the command gets them as `flags`, ready for `load_settings`.

    Values stay texts: `gossamer.config` knows the types, and its errors name the flag.
    """
    from gossamer.config.describe import all_settings

    flagged = {setting.key.replace(".", "_"): setting for setting in all_settings() if setting.flag}

    @functools.wraps(command)
    def with_flags(**arguments: Any) -> Any:
        given = {setting.key: arguments.pop(name) for name, setting in flagged.items()}
        return command(**arguments, flags={key: None if value == () else value for key, value in given.items()})

    decorated: Callable[..., Any] = with_flags
    for name, setting in reversed(flagged.items()):  # decorators apply from the last to the first
        decorated = _option(name, setting)(decorated)
    return decorated


def _option(name: str, setting: Setting) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    if isinstance(setting.default, bool):
        return click.option(setting.flags, name, default=None, help=setting.text)
    flags = (setting.flag, SHORT_FLAGS[setting.key]) if setting.key in SHORT_FLAGS else (setting.flag,)
    return click.option(*flags, name, metavar=setting.metavar, multiple=setting.is_list, help=_help_text(setting))


def _help_text(setting: Setting) -> str:
    repeat = " Can be given again; none: empty." if setting.is_list else ""
    default = "" if setting.is_list or setting.default in {None, ""} else f"  [default: {setting.default}]"
    return setting.text + repeat + default


def load_settings(
    store: str, config: Path | None, flags: Mapping[str, object], stored: Mapping[str, object] | None = None
) -> LoadedSettings:
    """Load the settings in effect for a command on this web."""
    from gossamer.config import load

    return load(file=config, store_dir=local_directory(store), environ=os.environ, flags=flags, stored=stored)


@contextmanager
def open_web(location: str, *, write: bool = False) -> Iterator[Store]:
    """Open the web that `--store` names, and close it at the end."""
    from gossamer.wiring import open_store

    store = open_store(location, read_only=not write)
    try:
        yield store
    finally:
        store.close()
