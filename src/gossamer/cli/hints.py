"""Commands in messages, complete enough to paste: with `--store` if the user named another web than the default."""

from __future__ import annotations

import re
from shlex import quote
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

STORE_KEY = "gossamer.cli.hints.store"  # in `Context.meta`: the store that a flag of this command line named
# A command between backticks, with or without its arguments. `copy` has no --store.
COMMAND = re.compile(r"`gossamer (?!copy\b)(?P<command>[a-z][^`\n]*)`")


def remember_store(context: click.Context, location: str) -> None:
    """Remember the store of this command line for `store_flag`, if a flag and not the environment named it."""
    if context.get_parameter_source("store") is ParameterSource.COMMANDLINE:
        context.meta[STORE_KEY] = location


def store_flag(meta: Mapping[str, Any] | None = None) -> str:
    """Return ` --store WEB` if the user named a web; `meta` is that of the current context by default."""
    if meta is None:
        context = click.get_current_context(silent=True)
        meta = context.meta if context is not None else {}
    location = meta.get(STORE_KEY)
    return f" --store {quote(location)}" if location else ""


def hint(command: str) -> str:
    """Return a command of ours as the user can paste it."""
    return f"gossamer {command}{store_flag()}"


def complete_commands(sentence: str, meta: Mapping[str, Any] | None = None) -> str:
    """Return a sentence whose commands between backticks name the store."""
    flag = store_flag(meta)

    def complete(match: re.Match[str]) -> str:
        has_store = not flag or "--store" in match["command"]
        return match[0] if has_store else f"`gossamer {match['command']}{flag}`"

    return COMMAND.sub(complete, sentence)
