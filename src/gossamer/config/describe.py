"""What the settings are, for people: the list of them, a commented gossamer.toml, and the reference page."""

from __future__ import annotations

import functools
import inspect
import json
import typing

import msgspec
from msgspec import inspect as shapes

from gossamer.config.structs import HostSettings, Section, Settings

UNSET = "none"  # the word for "no value" where a setting may have none: TOML has no null, nor has a command line

INIT_HEAD = """\
# Settings of one web, read by every gossamer command that is given this web.
#
# Each line that is commented out shows the default: remove the "#" to change it. What is set here gives way to
# GOSSAMER_* variables (GOSSAMER_CRAWL_MAX_DEPTH=3) and to flags (--max-depth 3). The word "none" means: no value.
# `gossamer config show` tells which value holds and where it came from.
"""

MAX_INLINE_LENGTH = 80  # a list longer than this is written with one item a line (characters)

HOST_EXAMPLE = {
    "delay": 1.0,
    "connections": 2,
    "username": "me",
    "password_env": "EXAMPLE_PASSWORD",
    "headers": {"X-Team": "search"},
    "headers_env": {"Authorization": "EXAMPLE_TOKEN"},
    "cookies_env": {"session": "EXAMPLE_SESSION"},
}


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting, described."""

    section: str  # "crawl"; "hosts" for those of one host
    name: str
    type: object  # the annotation
    default: object
    text: str
    flag: str  # "--max-depth"; "" when there is none
    metavar: str  # what stands for its value in help: "N"

    @property
    def key(self) -> str:
        """The dotted key: `crawl.max_depth`."""
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable: `GOSSAMER_CRAWL_MAX_DEPTH`."""
        return f"GOSSAMER_{self.section}_{self.name}".upper()

    @property
    def flags(self) -> str:
        """The flag as it is told: a switch has its opposite with it."""
        return f"{self.flag}/--no-{self.flag[2:]}" if self.flag and isinstance(self.default, bool) else self.flag

    @property
    def is_list(self) -> bool:
        """Whether the value is a list."""
        return isinstance(type_shape(self.type), shapes.VarTupleType)

    @property
    def is_optional(self) -> bool:
        """Whether there may be no value."""
        return isinstance(type_shape(self.type), shapes.UnionType)

    @property
    def choices(self) -> tuple[str, ...]:
        """The words it may be, when only some are allowed."""
        return literal_choices(self.type)


def type_shape(annotation: object) -> shapes.Type:
    """A type's shape, without the metadata around it."""
    shape = shapes.type_info(annotation)
    return shape.type if isinstance(shape, shapes.Metadata) else shape


@functools.cache
def sections() -> dict[str, type[Section]]:
    """The sections that are fixed: all but the hosts."""
    return {name: kind for name, kind in typing.get_type_hints(Settings).items() if name != "hosts"}


@functools.cache
def section_settings(section: str, kind: type[Section]) -> tuple[Setting, ...]:
    """The settings of one section, in order."""
    defaults = kind()
    settings = []
    for field in msgspec.structs.fields(kind):
        *_, meta = field.type.__metadata__  # the bounds come first, says() last
        flag, _, metavar = meta.extra["flag"].partition(" ")
        settings.append(
            Setting(
                section=section,
                name=field.name,
                type=field.type,
                default=getattr(defaults, field.name),
                text=meta.description,
                flag=flag,
                metavar=metavar or "|".join(literal_choices(field.type)),
            )
        )
    return tuple(settings)


@functools.cache
def all_settings() -> tuple[Setting, ...]:
    """Every setting but those of single hosts."""
    return tuple(setting for name, kind in sections().items() for setting in section_settings(name, kind))


def host_settings() -> tuple[Setting, ...]:
    """The settings one host may have."""
    return section_settings("hosts", HostSettings)


def literal_choices(annotation: object) -> tuple[str, ...]:
    """The words a `Literal` allows, in the order they are written in (msgspec sorts them)."""
    plain = typing.get_args(annotation)[0] if typing.get_origin(annotation) is typing.Annotated else annotation
    return typing.get_args(plain) if typing.get_origin(plain) is typing.Literal else ()


def describe_type(annotation: object) -> str:
    """What a value must be, as the end of "it must be ..."."""
    words = literal_choices(annotation)
    return "one of " + ", ".join(f'"{word}"' for word in words) if words else _describe_shape(type_shape(annotation))


def _describe_shape(shape: shapes.Type) -> str:
    match shape:
        case shapes.Metadata(type=inner):
            return _describe_shape(inner)
        case shapes.UnionType(types=kinds):
            return " or ".join(
                [*(_describe_shape(k) for k in kinds if not isinstance(k, shapes.NoneType)), f'"{UNSET}"']
            )
        case shapes.BoolType():
            return "true or false"
        case shapes.IntType(ge=least, le=most) | shapes.FloatType(ge=least, le=most):
            number = "a whole number" if isinstance(shape, shapes.IntType) else "a number"
            return f"{number} from {least:,} to {most:,}"
        case shapes.VarTupleType():
            return "a list of texts"
        case shapes.DictType():
            return "a table of texts"
        case _:
            return "a text"


def toml_value(value: object) -> str:
    """A value as TOML writes it. JSON's strings, numbers, booleans and lists are TOML's as well."""
    if value is None:
        return json.dumps(UNSET)
    if isinstance(value, dict):
        pairs = ", ".join(f"{json.dumps(key)} = {json.dumps(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return json.dumps(value, ensure_ascii=False)


def init_text() -> str:
    """A gossamer.toml with every setting, its description, and its default commented out."""
    parts = [INIT_HEAD]
    for name, kind in sections().items():
        parts.append(f"\n# {inspect.getdoc(kind)}\n[{name}]\n")
        parts += [_comment_out(setting, setting.default) for setting in section_settings(name, kind)]
    parts.append(f'\n# {inspect.getdoc(HostSettings)}\n#[hosts."example.org"]\n')
    parts += [_comment_out(setting, HOST_EXAMPLE[setting.name]) for setting in host_settings()]
    return "".join(parts)


def _comment_out(setting: Setting, value: object) -> str:
    written = toml_value(value)
    if len(written) > MAX_INLINE_LENGTH and isinstance(
        value, tuple
    ):  # one item a line; TOML allows the comma after the last
        written = "[\n" + "".join(f"#{toml_value(item)},\n" for item in value) + "#]"
    return f"\n# {_describe_setting(setting)}\n#{setting.name} = {written}\n"


def _describe_setting(setting: Setting) -> str:
    """The description, with what a value must be where the default does not show it."""
    return f"{setting.text} {describe_type(setting.type).capitalize()}." if setting.choices else setting.text


REFERENCE_HEAD = """\
# Settings

<!-- Written by `python -m gossamer.cli.reference docs/reference`; do not edit. -->

Every setting can stand in `gossamer.toml` (`gossamer config init` writes one with all of them, described), in an
environment variable, and some as a flag of `gossamer crawl`. A flag wins over a variable, a variable over the file, the
file over what the web was crawled with before (`[crawl]` only), and that over the default. `gossamer config show` tells
which value holds and where it came from.

The file is the one named with `--config` (or `GOSSAMER_CONFIG`), else `gossamer.toml` in the web's directory, else
`gossamer.toml` in the current directory. A variable is named `GOSSAMER_`, the section, the setting:
`GOSSAMER_CRAWL_MAX_DEPTH=3`; a list is written with commas: `GOSSAMER_CRAWL_DOMAINS=example.org,example.net`. The word
`none` takes a value away. An unknown key, a variable that is nearly one of these, or a wrong value is an error.

`GOSSAMER_STORE` (the web), `GOSSAMER_CONFIG` (the settings file) and `GOSSAMER_LOG_FILE` (the log) stand for
`--store`, `--config` and `--log-file`. `GOSSAMER_INDEX_USER` and `GOSSAMER_INDEX_PASSWORD` let us into an index on
OpenSearch; they are no settings, and never shown. `GOSSAMER_LOCAL` is the directory in which this machine keeps what it
derives from webs in PostgreSQL (index, link graph, logs), instead of `~/.cache/gossamer`.
"""

REFERENCE_HOSTS = """\

{doc}

The section is named after the host: `[hosts."example.org"]`, `[hosts."localhost:8080"]`. Secrets are sent over https
only, and over plain http to this machine or where the section says so: `[hosts."http://example.org"]`. Credentials,
headers and cookies are sent to that host only, never to another one that it redirects to. The headers `Authorization`,
`Cookie` and `Proxy-Authorization` are refused in `headers`: they belong into `headers_env` and `cookies_env`.
"""


def reference_text() -> str:
    """The reference page of all settings, in Markdown."""
    parts = [REFERENCE_HEAD]
    for name, kind in sections().items():
        parts.append(f"\n## [{name}]\n\n{inspect.getdoc(kind)}\n\n")
        parts.append("| setting | flag | default | what it is |\n|---|---|---|---|\n")
        parts += [_table_row(setting) for setting in section_settings(name, kind)]
    parts.append("\n## [hosts]\n" + REFERENCE_HOSTS.format(doc=inspect.getdoc(HostSettings)))
    parts.append("\n| setting | default | what it is |\n|---|---|---|\n")
    parts += [_table_row(setting, flags=False) for setting in host_settings()]
    return "".join(parts)


def _table_row(setting: Setting, *, flags: bool = True) -> str:
    flag = f" {f'`{setting.flags}`' if setting.flag else ''} |" if flags else ""
    return f"| `{setting.name}` |{flag} `{toml_value(setting.default)}` | {_describe_setting(setting)} |\n"
