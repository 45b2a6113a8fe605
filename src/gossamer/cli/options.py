"""Options that many commands share, so that they are called the same and behave the same everywhere."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gossamer.basics.locations import UNREADABLE_URL, is_shared, local_directory, parse_location
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gossamer.basics.locations import DatabaseUrl
    from gossamer.config import LoadedSettings
    from gossamer.config.describe import Setting


def _parse_url(location: str) -> DatabaseUrl | None:
    """The parts of a URL, None of a directory; refused if nobody can say which of them is the password."""
    if not is_shared(location):
        return None
    if (url := parse_location(location)) is None:
        raise UsageError(UNREADABLE_URL)
    return url


def check_location(_context: click.Context, _option: click.Parameter, place: str) -> str:
    """Refuse what cannot be taken apart before anything is said of it."""
    _parse_url(place)
    return place


def _without_password(_context: click.Context, _option: click.Parameter, place: str) -> str:
    """A password goes where PostgreSQL's own programs look for it, so that no message or log has it.

    If it was given as an argument, the list of processes has it all the same: that cannot be undone from here.
    """
    if (url := _parse_url(place)) is None:
        return place
    if url.password is not None:
        os.environ["PGPASSWORD"] = url.password
        if os.environ.get("GOSSAMER_STORE") == place:
            os.environ["GOSSAMER_STORE"] = url.without_password
    return url.without_password


store_option = click.option(
    "--store",
    envvar="GOSSAMER_STORE",
    default="web",
    show_default=True,
    metavar="WEB",
    callback=_without_password,
    help="The web: a directory, or postgresql://USER@HOST/DATABASE?schema=NAME. Also GOSSAMER_STORE.",
)
config_option = click.option(
    "--config",
    envvar="GOSSAMER_CONFIG",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The settings file, instead of the web's own. Also GOSSAMER_CONFIG.",
)


def _set_index_url(_context: click.Context, _option: click.Parameter, url: str | None) -> None:
    """A flag that is the variable, for this process and those it starts: so whoever opens the index knows."""
    if url is not None:
        os.environ["GOSSAMER_INDEX_URL"] = url


index_option = click.option(
    "--index-url",
    expose_value=False,
    callback=_set_index_url,
    metavar="URL",
    help="The index: an OpenSearch cluster, with the name it has there. Also GOSSAMER_INDEX_URL, index.url.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
limit_option = click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most N rows; 0: all of them.")


def settings_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command a flag for every setting that has one; it gets them as `flags`, ready for `load_settings`.

    Values go through as texts: `gossamer.config` knows the types, and its errors name the flag.
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
    return click.option(setting.flag, name, metavar=setting.metavar, multiple=setting.is_list, help=_help_text(setting))


def _help_text(setting: Setting) -> str:
    more = " Can be given again; none: empty." if setting.is_list else ""
    default = "" if setting.is_list or setting.default in {None, ""} else f"  [default: {setting.default}]"
    return setting.text + more + default


def load_settings(
    store: str, config: Path | None, flags: Mapping[str, object], stored: Mapping[str, object] | None = None
) -> LoadedSettings:
    """The settings that hold for a command on this web."""
    from gossamer.config import load

    return load(file=config, store_dir=local_directory(store), environ=os.environ, flags=flags, stored=stored)
