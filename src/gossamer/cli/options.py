"""Options that many commands share, so that they are called the same and behave the same everywhere."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gossamer.config import Loaded
    from gossamer.config.describe import Setting

store_option = click.option(
    "--store",
    envvar="GOSSAMER_STORE",
    default="web",
    show_default=True,
    metavar="DIR",
    help="The web: a directory. Also GOSSAMER_STORE.",
)
config_option = click.option(
    "--config",
    envvar="GOSSAMER_CONFIG",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The settings file, instead of the web's own. Also GOSSAMER_CONFIG.",
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
    return click.option(setting.flag, name, metavar=setting.metavar, multiple=setting.many, help=_help(setting))


def _help(setting: Setting) -> str:
    more = " Can be given again; none: empty." if setting.many else ""
    default = "" if setting.many or setting.default in {None, ""} else f"  [default: {setting.default}]"
    return setting.text + more + default


def load_settings(
    store: str, config: Path | None, flags: Mapping[str, object], stored: Mapping[str, object] | None = None
) -> Loaded:
    """The settings that hold for a command on this web."""
    from gossamer.config import load

    place = None if "://" in store else Path(store)
    return load(file=config, store_dir=place, environ=os.environ, flags=flags, stored=stored)
