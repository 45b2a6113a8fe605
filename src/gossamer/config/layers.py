"""Reading the settings: each layer gives some values, a later one wins, and every value remembers where it came from.

defaults < the web (what it was crawled with, [crawl] only) < gossamer.toml < GOSSAMER_* variables < flags
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gossamer.config.checks import problem
from gossamer.config.describe import UNSET, Setting, all_settings, expected, host_settings, sections
from gossamer.config.structs import CrawlSettings, HostSettings, Settings
from gossamer.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE_NAME = "gossamer.toml"
DEFAULT = "default"
THE_WEB = "the web"
THE_PROGRAM = "the program"
BY_TOPIC = "best"  # the order that heeds a topic
PREFIX = "GOSSAMER_"
RESERVED = frozenset(
    {
        *("GOSSAMER_STORE", "GOSSAMER_CONFIG", "GOSSAMER_LOG_FILE"),  # flags of the command line
        "GOSSAMER_LOCAL",  # `places`: what this machine keeps of a shared web
        *("GOSSAMER_INDEX_USER", "GOSSAMER_INDEX_PASSWORD"),  # secrets: `wiring` alone looks at them
    }
)
SWITCH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that hold."""

    settings: Settings
    origins: dict[str, str]  # dotted key -> "default", "the web", "the program", the file's path, the variable or flag
    file: Path | None  # the settings file that was read


class Given(msgspec.Struct, frozen=True):
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
) -> Loaded:
    """Read every layer. `flags` and `stored` map keys to values; a flag that is None was not given."""
    path = _find(file, store_dir)
    given = [
        *_from_web(stored or {}),
        *(_from_file(path) if path else ()),
        *_from_environment(environ),
        *_from_flags(flags),
    ]
    origins = {setting.key: DEFAULT for setting in all_settings()}
    fixed: dict[str, dict[str, object]] = {}
    hosts: dict[str, dict[str, object]] = {}
    for item in given:
        origins[item.key] = item.origin
        section = hosts.setdefault(item.host, {}) if item.host else fixed.setdefault(item.setting.section, {})
        section[item.setting.name] = item.value
    _heed_topic(fixed.setdefault("crawl", {}), origins)
    settings = Settings(
        **{name: kind(**fixed.get(name, {})) for name, kind in sections().items()},  # type: ignore[arg-type]
        hosts={name: HostSettings(**values) for name, values in hosts.items()},  # type: ignore[arg-type]
    )
    return Loaded(settings=settings, origins=origins, file=path)


def of_web(stored: str) -> CrawlSettings:
    """The settings that a web is crawled with, from what is stored with its round."""
    given = _from_web(msgspec.json.decode(stored, type=dict[str, object]))
    return CrawlSettings(**{item.setting.name: item.value for item in given})  # type: ignore[arg-type]


def _heed_topic(crawl: dict[str, object], origins: dict[str, str]) -> None:
    """A topic sets the order that heeds it, unless somebody chose another one: then one of the two does nothing.

    A web that has both was crawled before this was so.
    """
    if not crawl.get("topic") or crawl.get("order") == BY_TOPIC:
        return
    both = {origins["crawl.topic"], origins["crawl.order"]}
    if origins["crawl.order"] != DEFAULT and both != {THE_WEB}:
        raise SettingsError(
            f'A topic ({origins["crawl.topic"]}) is heeded by the order "{BY_TOPIC}" alone, and crawl.order is '
            f'"{crawl["order"]}" ({origins["crawl.order"]}): set it to "{BY_TOPIC}", or the topic to "".'
        )
    crawl["order"] = BY_TOPIC
    origins["crawl.order"] = origins["crawl.topic"]


def _find(file: Path | None, store_dir: Path | None) -> Path | None:
    if file is not None:
        if not file.is_file():
            raise SettingsError(f"There is no settings file at {file}.")
        return file
    places = ([store_dir / FILE_NAME] if store_dir else []) + [Path(FILE_NAME)]
    return next((place for place in places if place.is_file()), None)


def _from_web(stored: Mapping[str, object]) -> Iterable[Given]:
    """What the web was crawled with. A setting that this version no longer has does nothing, so it may stand there."""
    for setting in all_settings():
        if setting.section == "crawl" and setting.name in stored:
            value = _checked(setting, stored[setting.name], f"The web's setting {setting.key}")
            if value != setting.default:
                yield Given(setting, value, THE_WEB)


def _from_file(path: Path) -> Iterable[Given]:
    try:
        tables = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise SettingsError(f"The settings file {path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"The settings file {path} is not valid TOML: {error}.") from error
    known = {setting.key: setting for setting in all_settings()}
    for section, table in tables.items():
        if section == "hosts":
            yield from _from_hosts(str(path), table)
            continue
        if section not in sections():
            raise _unknown(str(path), section, [*sections(), "hosts", *known])
        for name, value in _table(str(path), section, table).items():
            setting = known.get(f"{section}.{name}")
            if setting is None:
                raise _unknown(str(path), f"{section}.{name}", known)
            yield Given(setting, _checked(setting, value, f"{path}: {setting.key}", file=True), str(path))


def _from_hosts(place: str, tables: object) -> Iterable[Given]:
    known = {setting.name: setting for setting in host_settings()}
    for name, table in _table(place, "hosts", tables).items():
        host = name.removeprefix("https://").removeprefix("http://")
        if not host or "/" in host or "@" in host or name != name.strip().lower():
            raise SettingsError(
                f'{place}: [hosts."{name}"]: a host is written as in URLs: example.org, localhost:8080 or '
                "http://example.org."
            )
        for key, value in _table(place, f'hosts."{name}"', table).items():
            if key not in known:
                raise _unknown(place, f'hosts."{name}".{key}', [f'hosts."{name}".{field}' for field in known])
            where = f'{place}: hosts."{name}".{key}'
            yield Given(known[key], _checked(known[key], value, where), place, name)


def _table(place: str, name: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise SettingsError(f"{place}: {name} is a section: write [{name}] and its settings below.")
    return value


def _from_environment(environ: Mapping[str, str]) -> Iterable[Given]:
    known = {setting.variable: setting for setting in all_settings()}
    for variable in sorted(environ):
        if not variable.startswith(PREFIX) or variable in RESERVED:
            continue
        setting = known.get(variable)
        if setting is not None:
            yield Given(setting, _checked(setting, _of_text(setting, environ[variable]), variable), variable)
        elif nearest := _mistaken(variable, known):
            raise SettingsError(f"{variable} is no setting. Did you mean {nearest}?")


def _mistaken(variable: str, known: Mapping[str, Setting]) -> str | None:
    """The variable that was meant, when this one was meant for us.

    Others may start with our name: the secrets that a host's settings name, or what Kubernetes sets for a service
    called gossamer (GOSSAMER_SERVICE_HOST, GOSSAMER_PORT). So only what starts like a section, is a setting's name
    without its section, or is very near to a known variable counts as a mistake.
    """
    ours = any(variable.startswith(f"{PREFIX}{section.upper()}_") for section in sections())
    bare = next((name for name, setting in known.items() if variable == PREFIX + setting.name.upper()), None)
    near = difflib.get_close_matches(variable, known, n=1, cutoff=0.0 if ours else 0.9)
    return bare or next(iter(near), None)


def _from_flags(flags: Mapping[str, object]) -> Iterable[Given]:
    known = {setting.key: setting for setting in all_settings()}
    for key, value in flags.items():
        if value is None:
            continue
        if key == "hosts":
            yield from _from_hosts(THE_PROGRAM, value)
            continue
        setting = known.get(key)
        if setting is None:
            raise _unknown("", key, known)
        flag = setting.flag or key
        plain = _of_text(setting, value) if isinstance(value, str) and not setting.many else value
        origin = f"--no-{flag[2:]}" if plain is False and flag.startswith("--") else flag
        yield Given(setting, _checked(setting, plain, flag), origin)


def _of_text(setting: Setting, text: str) -> object:
    """What a text from a variable or a flag stands for; the text itself when it stands for nothing, to be refused."""
    text = text.strip()
    if setting.many:
        return [item.strip() for item in text.split(",") if item.strip()]
    if isinstance(setting.default, bool):
        return SWITCH.get(text.lower(), text)
    try:
        return msgspec.convert(text, setting.type, strict=False)
    except msgspec.ValidationError:
        return text


def _checked(setting: Setting, value: object, where: str, *, file: bool = False) -> object:
    """The value as its type, or an error that says what is wrong with it. `where` names the setting and its place."""
    if value == UNSET and setting.optional:
        return None
    if isinstance(value, str) and setting.many:
        value = (value,)  # one is a list of one
    if setting.many and value in ((UNSET,), [UNSET]):
        value = ()
    try:
        checked: object = msgspec.convert(value, setting.type)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{where} is {_shown(value)}, and must be {expected(setting.type)}.") from error
    wrong = problem(setting.key, checked, file=file)
    if wrong:
        raise SettingsError(f"{where}: {wrong}.")
    return checked


def _shown(value: object) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()[:200]


def _unknown(place: str, key: str, known: Iterable[str]) -> SettingsError:
    """The error for an unknown key, with the nearest one: a misspelt name, or the right name in the wrong section."""
    keys = list(known)
    name = key.rpartition(".")[2]
    same = [candidate for candidate in keys if candidate.rpartition(".")[2] == name]
    near = same or difflib.get_close_matches(key, keys, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]}?" if near else ""
    return SettingsError(f"{f'{place}: ' if place else ''}there is no setting {key}.{hint}")
