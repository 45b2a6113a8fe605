"""The command `config`: `init` writes a settings file, `show` prints the settings in effect."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.cli.help import HelpCommand, HelpGroup
from gossamer.cli.options import config_option, json_option, load_settings, store_option
from gossamer.cli.output import TerminalColumn, json_text, print_line, print_message, write_table
from gossamer.errors import SettingsError, StoreMissing, UsageError
from gossamer.kernels import native, why_not

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.config import HostSettings, LoadedSettings
    from gossamer.render.choice import BrowserChoice

FILE_NAME = "gossamer.toml"


@click.group(cls=HelpGroup, invoke_without_command=True)
@click.pass_context
def config(ctx: click.Context) -> None:
    """Write a settings file, or show the settings in effect."""
    if ctx.invoked_subcommand is None:
        print_line(ctx.get_help())


@config.command(cls=HelpCommand)
@click.option(
    "--out",
    "-o",
    metavar="FILE",
    help="File to write; - is stdout. Default: gossamer.toml in the web's directory, else here.",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@store_option
@json_option
def init(out: str | None, force: bool, store: str, as_json: bool) -> None:
    """Write a gossamer.toml with every setting described, and its default commented out.

    \b
    JSON: {"out"}
    """
    from gossamer.config import init_text

    if out == "-":
        if as_json:
            raise UsageError("With --json the answer goes to stdout, where the file would go too; give --out FILE.")
        print_line(init_text().rstrip())
        return
    path = Path(out) if out else Path(store if Path(store).is_dir() else ".") / FILE_NAME
    try:
        with path.open("w" if force else "x") as file:
            file.write(init_text())
    except FileExistsError as error:
        raise SettingsError(f"{path} exists already; --force replaces it.") from error
    if as_json:
        print_line(json_text({"out": str(path)}))
    print_message(f"Wrote {path}.")


@config.command(cls=HelpCommand, name="show")
@click.option("--changed", is_flag=True, help="Show only settings that differ from their default.")
@store_option
@config_option
@json_option
def show_(changed: bool, store: str, config: Path | None, as_json: bool) -> None:
    """Show the value of each setting and where it comes from; of secrets, only whether they are set.

    \b
    JSON: {"file", "native", "rendering": {"mode", "browser", "reason", "layers"},
           "settings": [{"key", "value", "from", "text"}]};
    native: whether compiled kernels are in use; rendering: what crawl.render means on this machine
    """
    loaded = load_settings(store, config, {}, _stored_settings(store))
    rows = [row for row in _setting_rows(loaded) if row[2] != "default" or not changed]
    if as_json:
        fields = [{"key": key, "value": value, "from": origin, "text": text} for key, value, origin, text in rows]
        file = str(loaded.file) if loaded.file else None
        head = {"file": file, "native": native is not None, "rendering": _rendering(loaded)}
        print_line(json_text(head | {"settings": fields}, indent=2))
        return
    columns = [TerminalColumn("setting"), TerminalColumn("value", cut="end"), TerminalColumn("from", cut="middle")]
    write_table(columns, [(key, _value_text(value), origin) for key, value, origin, _ in rows])
    if not changed:
        print_message(f"Kernels: Python; {why_not}." if why_not else "Kernels: native.")
        print_message(_rendering_text(_rendering(loaded)))


def _rendering(loaded: LoadedSettings) -> BrowserChoice:
    """Return what rendering means on this machine, with these settings."""
    from gossamer.render.choice import BrowserChoice, choose_browser

    settings = loaded.settings
    try:
        return choose_browser(
            settings.crawl.render, named=settings.render.browser, unsafe=settings.render.unsafe_browser
        )
    except UsageError as fault:
        return BrowserChoice(mode="never", reason=str(fault).rstrip("."))


_READABLE_FILES = "the browser can read the files that its user can"


def _rendering_text(choice: BrowserChoice) -> str:
    if choice.mode == "never":
        browser = f" (browser: {choice.browser})" if choice.browser else ""
        return f"Rendering: never; {choice.reason}{browser}."
    layers = choice.layers
    missing = f"; WITHOUT A LAYER: {layers.reason}" if layers is not None and layers.reason else ", without a network"
    files = (
        "" if layers is None or not layers.files else f"; without Landlock, because {layers.files}: {_READABLE_FILES}"
    )
    return f"Rendering: {choice.mode}, by {choice.browser}{missing}{files}."


def _stored_settings(store: str) -> dict[str, object] | None:
    """Return the settings of the last crawl, None if there is no web."""
    from gossamer.cli.options import open_web
    from gossamer.lookup import stored_crawl_settings

    try:
        with open_web(store) as web:
            return stored_crawl_settings(web)
    except StoreMissing:
        return None


def _setting_rows(loaded: LoadedSettings) -> Iterator[tuple[str, object, str, str]]:
    from gossamer.config.checks import mask_credentials
    from gossamer.config.describe import all_settings

    for setting in all_settings():
        value = getattr(getattr(loaded.settings, setting.section), setting.name)
        yield (
            setting.key,
            mask_credentials(value) if isinstance(value, str) else value,
            loaded.origins[setting.key],
            setting.text,
        )
    for name, host in loaded.settings.hosts.items():
        yield from _host_rows(name, host, loaded)


def _host_rows(name: str, host: HostSettings, loaded: LoadedSettings) -> Iterator[tuple[str, object, str, str]]:
    from gossamer.config.describe import host_settings

    for setting in host_settings():
        key = f'hosts."{name}".{setting.name}'
        if key in loaded.origins:
            yield key, _without_secrets(setting.name, getattr(host, setting.name)), loaded.origins[key], setting.text


def _without_secrets(name: str, value: object) -> object:
    """Mask secrets: show variables by name only, and no header value, because any of them may be secret."""
    if name == "headers" and isinstance(value, dict):
        return dict.fromkeys(value, "***")
    if isinstance(value, dict):
        return {key: _variable_text(variable) for key, variable in value.items()}
    return _variable_text(str(value)) if name == "password_env" else value


def _variable_text(name: str) -> str:
    return f"{name} ({'set' if name in os.environ else 'not set'})"


def _value_text(value: object) -> str:
    from gossamer.config.describe import toml_value

    return toml_value(value)
