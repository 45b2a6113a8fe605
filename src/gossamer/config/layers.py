"""Loading of the settings: each layer gives some values, a later layer overrides, and each value has an origin.

defaults < the web (settings of its last crawl, [crawl] only) < gossamer.toml < GOSSAMER_* variables < flags
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gossamer.config.checks import find_problem
from gossamer.config.describe import UNSET, Setting, all_settings, describe_type, host_settings, sections
from gossamer.config.structs import CrawlSettings, HostSettings, Settings
from gossamer.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE_NAME = "gossamer.toml"
DEFAULT = "default"
THE_WEB = "the web"
THE_PROGRAM = "the program"
TOPIC_ORDER = "best"  # the only order that uses a topic
PREFIX = "GOSSAMER_"
RESERVED_VARIABLES = frozenset(
    {
        *("GOSSAMER_STORE", "GOSSAMER_CONFIG", "GOSSAMER_LOG_FILE"),  # flags of the command line
        "GOSSAMER_NATIVE",  # switches the native kernels off, read by `kernels`
        "GOSSAMER_LOCAL",  # directory for local data of shared webs, read by `basics.locations`
        *("GOSSAMER_INDEX_USER", "GOSSAMER_INDEX_PASSWORD", "GOSSAMER_SQL_URL"),  # secrets, read only through `wiring`
    }
)
BOOLEAN_WORDS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


class LoadedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings in effect, with their origins."""

    settings: Settings
    origins: dict[str, str]  # dotted key -> "default", "the web", "the program", the file's path, the variable or flag
    file: Path | None  # the settings file that was read


class SettingValue(msgspec.Struct, frozen=True):
    """One value that a layer gives."""

    setting: Setting
    value: object
    origin: str
    host: str = ""

    @property
    def key(self) -> str:
        """The dotted key, with the host's name as TOML writes it."""
        return f'hosts."{self.host}".{self.setting.name}' if self.host else self.setting.key


def load(
    *,
    file: Path | None,
    store_dir: Path | None,
    environ: Mapping[str, str],
    flags: Mapping[str, object],
    stored: Mapping[str, object] | None = None,
) -> LoadedSettings:
    """Read and merge all layers. `flags` maps dotted keys to values, `stored` names of [crawl]; None: not given."""
    path = _find_file(file, store_dir)
    layer_values = [
        *_web_values(stored or {}),
        *(_file_values(path) if path else ()),
        *_environment_values(environ),
        *_flag_values(flags),
    ]
    origins = {setting.key: DEFAULT for setting in all_settings()}
    fixed: dict[str, dict[str, object]] = {}
    hosts: dict[str, dict[str, object]] = {}
    for item in layer_values:
        origins[item.key] = item.origin
        section = hosts.setdefault(item.host, {}) if item.host else fixed.setdefault(item.setting.section, {})
        section[item.setting.name] = item.value
    _apply_topic(fixed.setdefault("crawl", {}), origins)
    settings = Settings(
        **{name: kind(**fixed.get(name, {})) for name, kind in sections().items()},  # type: ignore[arg-type]
        hosts={name: HostSettings(**values) for name, values in hosts.items()},  # type: ignore[arg-type]
    )
    return LoadedSettings(settings=settings, origins=origins, file=path)


def decode_crawl_settings(stored: str) -> CrawlSettings:
    """Return the [crawl] settings stored with a round as JSON."""
    values = _web_values(msgspec.json.decode(stored, type=dict[str, object]))
    return CrawlSettings(**{item.setting.name: item.value for item in values})  # type: ignore[arg-type]


def _apply_topic(crawl: dict[str, object], origins: dict[str, str]) -> None:
    """Set the order that uses a topic, or refuse another order that somebody chose together with a topic.

    A web can have stored both, written by a version without this rule; then the topic decides.
    """
    if not crawl.get("topic") or crawl.get("order") == TOPIC_ORDER:
        return
    both = {origins["crawl.topic"], origins["crawl.order"]}
    if origins["crawl.order"] != DEFAULT and both != {THE_WEB}:
        raise SettingsError(
            f'A topic ({origins["crawl.topic"]}) only works with the order "{TOPIC_ORDER}", and crawl.order is '
            f'"{crawl["order"]}" ({origins["crawl.order"]}): set it to "{TOPIC_ORDER}", or the topic to "".'
        )
    crawl["order"] = TOPIC_ORDER
    origins["crawl.order"] = origins["crawl.topic"]


def _find_file(file: Path | None, store_dir: Path | None) -> Path | None:
    if file is not None:
        if not file.is_file():
            raise SettingsError(f"There is no settings file at {file}.")
        return file
    paths = ([store_dir / FILE_NAME] if store_dir else []) + [Path(FILE_NAME)]
    return next((path for path in paths if path.is_file()), None)


def _web_values(stored: Mapping[str, object]) -> Iterable[SettingValue]:
    """Yield the settings stored with the web. Unknown names are ignored: another version may have written them."""
    for setting in all_settings():
        if setting.section == "crawl" and setting.name in stored:
            value = _check_value(setting, stored[setting.name], f"The web's setting {setting.key}")
            if value != setting.default:
                yield SettingValue(setting, value, THE_WEB)


def _file_values(path: Path) -> Iterable[SettingValue]:
    try:
        tables = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise SettingsError(f"The settings file {path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"The settings file {path} is not valid TOML: {error}.") from error
    known = {setting.key: setting for setting in all_settings()}
    for section, table in tables.items():
        if section == "hosts":
            yield from _host_values(str(path), table)
            continue
        if section not in sections():
            raise _unknown_setting(str(path), section, [*sections(), "hosts", *known])
        for name, value in _require_table(str(path), section, table).items():
            setting = known.get(f"{section}.{name}")
            if setting is None:
                raise _unknown_setting(str(path), f"{section}.{name}", known)
            yield SettingValue(setting, _check_value(setting, value, f"{path}: {setting.key}", in_file=True), str(path))


def _host_values(origin: str, tables: object) -> Iterable[SettingValue]:
    known = {setting.name: setting for setting in host_settings()}
    for name, table in _require_table(origin, "hosts", tables).items():
        host = name.removeprefix("https://").removeprefix("http://")
        if not host or "/" in host or "@" in host or name != name.strip().lower():
            raise SettingsError(
                f'{origin}: [hosts."{name}"]: a host is written as in URLs: example.org, localhost:8080 or '
                "http://example.org."
            )
        for key, value in _require_table(origin, f'hosts."{name}"', table).items():
            if key not in known:
                raise _unknown_setting(origin, f'hosts."{name}".{key}', [f'hosts."{name}".{field}' for field in known])
            where = f'{origin}: hosts."{name}".{key}'
            yield SettingValue(known[key], _check_value(known[key], value, where), origin, name)


def _require_table(origin: str, name: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise SettingsError(f"{origin}: {name} is a section: write [{name}] and its settings below.")
    return value


def _environment_values(environ: Mapping[str, str]) -> Iterable[SettingValue]:
    known = {setting.variable: setting for setting in all_settings()}
    for variable in sorted(environ):
        if not variable.startswith(PREFIX) or variable in RESERVED_VARIABLES:
            continue
        setting = known.get(variable)
        if setting is not None:
            yield SettingValue(
                setting, _check_value(setting, _parse_text(setting, environ[variable]), variable), variable
            )
        elif nearest := _intended_variable(variable, known):
            raise SettingsError(f"{variable} is not a setting. Did you mean {nearest}?")


def _intended_variable(variable: str, known: Mapping[str, Setting]) -> str | None:
    """Return the setting's variable that an unknown variable probably means, or None if it is not for Gossamer.

    Other variables may start with GOSSAMER_ too: a host's settings name some for secrets, and Kubernetes sets some for
    a service called gossamer (GOSSAMER_SERVICE_HOST, GOSSAMER_PORT). So only three kinds count as mistakes: the name
    starts with a section, lacks its section, or closely resembles a known variable.
    """
    ours = any(variable.startswith(f"{PREFIX}{section.upper()}_") for section in sections())
    bare = next((name for name, setting in known.items() if variable == PREFIX + setting.name.upper()), None)
    near = difflib.get_close_matches(variable, known, n=1, cutoff=0.0 if ours else 0.9)
    return bare or next(iter(near), None)


def _flag_values(flags: Mapping[str, object]) -> Iterable[SettingValue]:
    known = {setting.key: setting for setting in all_settings()}
    for key, value in flags.items():
        if value is None:
            continue
        if key == "hosts":
            yield from _host_values(THE_PROGRAM, value)
            continue
        setting = known.get(key)
        if setting is None:
            raise _unknown_setting("", key, known)
        flag = setting.flag or key
        plain = _parse_text(setting, value) if isinstance(value, str) and not setting.is_list else value
        origin = f"--no-{flag[2:]}" if plain is False and flag.startswith("--") else flag
        yield SettingValue(setting, _check_value(setting, plain, flag), origin)


def _parse_text(setting: Setting, text: str) -> object:
    """Convert a text from a variable or a flag; return an invalid text unchanged, so that the check refuses it."""
    text = text.strip()
    if setting.is_list:
        return [item.strip() for item in text.split(",") if item.strip()]
    if isinstance(setting.default, bool):
        return BOOLEAN_WORDS.get(text.lower(), text)
    try:
        return msgspec.convert(text, setting.type, strict=False)
    except msgspec.ValidationError:
        return text


def _check_value(setting: Setting, value: object, where: str, *, in_file: bool = False) -> object:
    """Return the value converted to its type, or raise an error. `where` names the setting and its origin."""
    if value == UNSET and setting.is_optional:
        return None
    if isinstance(value, str) and setting.is_list:
        value = (value,)
    if setting.is_list and value in ((UNSET,), [UNSET]):
        value = ()
    try:
        checked: object = msgspec.convert(value, setting.type)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{where} is {_format_value(value)}, and must be {describe_type(setting.type)}.") from error
    wrong = find_problem(setting.key, checked, in_file=in_file)
    if wrong:
        raise SettingsError(f"{where}: {wrong}.")
    return checked


def _format_value(value: object) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()[:200]


def _unknown_setting(origin: str, key: str, known: Iterable[str]) -> SettingsError:
    """Return the error for an unknown key; it suggests the same name in another section, or a similar name."""
    keys = list(known)
    name = key.rpartition(".")[2]
    same = [candidate for candidate in keys if candidate.rpartition(".")[2] == name]
    near = same or difflib.get_close_matches(key, keys, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]}?" if near else ""
    return SettingsError(f"{f'{origin}: ' if origin else ''}there is no setting {key}.{hint}")
