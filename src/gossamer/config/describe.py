"""Descriptions of the settings for people: the list, a commented gossamer.toml, and the reference page."""

from __future__ import annotations

import functools
import inspect
import json
import typing

import msgspec
from msgspec import inspect as shapes

from gossamer.config.structs import BRIEFS, HostSettings, Section, Settings

UNSET = "none"  # the word for "no value", because neither TOML nor a command line has a null

INIT_HEAD = """\
# Settings of one web. Every gossamer command that opens this web reads them.
#
# Each commented line shows a default: remove the "#" to change it. GOSSAMER_* variables (GOSSAMER_CRAWL_MAX_DEPTH=3)
# and flags (--max-depth 3) override this file. The word "none" means: no value.
# `gossamer config show` shows the value in effect and its origin.
"""

MAX_INLINE_LENGTH = 80  # characters; a longer list has one item a line

HOST_EXAMPLE = {
    "delay": 1.0,
    "connections": 2,
    "username": "me",
    "password_env": "EXAMPLE_PASSWORD",
    "headers": {"X-Team": "search"},
    "headers_env": {"Authorization": "EXAMPLE_TOKEN"},
    "cookies_env": {"session": "EXAMPLE_SESSION"},
    "render_methods": ("POST",),
}


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """The description of one setting."""

    section: str  # "crawl"; "hosts" for a setting of one host
    name: str
    type: object  # the annotation
    default: object
    text: str
    flag: str  # "--max-depth"; "" if the setting has no flag
    metavar: str  # placeholder of its value in help: "N"

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
        """The flag as help shows it; a switch includes its opposite."""
        return f"{self.flag}/--no-{self.flag[2:]}" if self.flag and isinstance(self.default, bool) else self.flag

    @property
    def brief(self) -> str:
        """The line that help shows for the flag; "" if the setting has no flag."""
        return BRIEFS.get(self.flag, "")

    @property
    def is_list(self) -> bool:
        """Whether the value is a list."""
        return isinstance(type_shape(self.type), shapes.VarTupleType)

    @property
    def is_optional(self) -> bool:
        """Whether the value may be `none`."""
        return isinstance(type_shape(self.type), shapes.UnionType)

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that a `Literal` setting allows; empty for other types."""
        return literal_choices(self.type)


def type_shape(annotation: object) -> shapes.Type:
    """Return msgspec's view of a type, without metadata."""
    shape = shapes.type_info(annotation)
    return shape.type if isinstance(shape, shapes.Metadata) else shape


@functools.cache
def sections() -> dict[str, type[Section]]:
    """Return the sections with fixed names: all except `hosts`."""
    return {name: kind for name, kind in typing.get_type_hints(Settings).items() if name != "hosts"}


@functools.cache
def section_settings(section: str, kind: type[Section]) -> tuple[Setting, ...]:
    """Return the settings of one section, in order."""
    defaults = kind()
    settings = []
    for field in msgspec.structs.fields(kind):
        *_, meta = field.type.__metadata__  # bounds come first, `doc(...)` last
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
    """Return every setting except the settings of single hosts."""
    return tuple(setting for name, kind in sections().items() for setting in section_settings(name, kind))


def host_settings() -> tuple[Setting, ...]:
    """Return the settings of one host."""
    return section_settings("hosts", HostSettings)


def literal_choices(annotation: object) -> tuple[str, ...]:
    """Return the words a `Literal` allows in source order, which msgspec does not keep."""
    plain = typing.get_args(annotation)[0] if typing.get_origin(annotation) is typing.Annotated else annotation
    return typing.get_args(plain) if typing.get_origin(plain) is typing.Literal else ()


def describe_type(annotation: object) -> str:
    """Return what a value must be, as the end of "it must be ..."."""
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
    """Return a value as TOML. JSON strings, numbers, booleans and lists are valid TOML too."""
    if value is None:
        return json.dumps(UNSET)
    if isinstance(value, dict):
        pairs = ", ".join(f"{json.dumps(key)} = {json.dumps(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return json.dumps(value, ensure_ascii=False)


def init_text() -> str:
    """Return a gossamer.toml with every setting, its description, and its default commented out."""
    parts = [INIT_HEAD]
    for name, kind in sections().items():
        parts.append(f"\n# {inspect.getdoc(kind)}\n[{name}]\n")
        parts += [_comment_out(setting, setting.default) for setting in section_settings(name, kind)]
    parts.append(f'\n# {inspect.getdoc(HostSettings)}\n#[hosts."example.org"]\n')
    parts += [_comment_out(setting, HOST_EXAMPLE[setting.name]) for setting in host_settings()]
    return "".join(parts)


def _comment_out(setting: Setting, value: object) -> str:
    written = toml_value(value)
    if len(written) > MAX_INLINE_LENGTH and isinstance(value, tuple):
        written = "[\n" + "".join(f"#{toml_value(item)},\n" for item in value) + "#]"  # TOML allows a last comma
    return f"\n# {_describe_setting(setting)}\n#{setting.name} = {written}\n"


def _describe_setting(setting: Setting) -> str:
    """Return the description, with the allowed words if there are only some."""
    return f"{setting.text} {describe_type(setting.type).capitalize()}." if setting.choices else setting.text


REFERENCE_HEAD = """\
# Settings

<!-- Written by `python -m gossamer.cli.reference docs/reference`; do not edit. -->

You can set every setting in `gossamer.toml` or in an environment variable, and some as a flag of `gossamer crawl`.
`gossamer config init` writes a `gossamer.toml` that describes all of them. A flag overrides a variable, a variable
overrides the file, the file overrides the settings of the web's last crawl (`[crawl]` only), and these override the
default. `gossamer config show` shows the value in effect and its origin.

Gossamer reads the file named with `--config` (or `GOSSAMER_CONFIG`), else `gossamer.toml` in the web's directory, else
`gossamer.toml` in the current directory. The name of a variable is `GOSSAMER_`, the section, the setting:
`GOSSAMER_CRAWL_MAX_DEPTH=3`. Commas separate the items of a list: `GOSSAMER_CRAWL_DOMAINS=example.org,example.net`. The
word `none` removes a value. An unknown key, a misspelt variable or a wrong value is an error.

`GOSSAMER_STORE` (the web), `GOSSAMER_CONFIG` (the settings file) and `GOSSAMER_LOG_FILE` (the log) replace the flags
`--store`, `--config` and `--log-file`. `GOSSAMER_INDEX_USER` and `GOSSAMER_INDEX_PASSWORD` are the credentials of an
index on OpenSearch; they are not settings, and no command shows them. `GOSSAMER_LOCAL` is the directory in which this
machine keeps data derived from webs in PostgreSQL (index, link graph, logs). Its default is `~/.cache/gossamer`.
`GOSSAMER_SQL_URL` is the URL of a role that can only read a web in PostgreSQL; SQL in the browser uses it.
`GOSSAMER_NATIVE=0` switches the native kernels off; Python then does their work, slower and with the same results.
"""

REFERENCE_HOSTS = """\

{doc}

The section has the name of the host: `[hosts."example.org"]`, `[hosts."localhost:8080"]`. Gossamer sends secrets over
https only. It sends them over plain http to this machine, and to hosts whose section says so:
`[hosts."http://example.org"]`. It sends credentials, headers and cookies to that host only, never to a host that it
redirects to. `headers` refuses `Authorization`, `Cookie` and `Proxy-Authorization`: use `headers_env` and
`cookies_env`.
"""


def reference_text() -> str:
    """Return the reference page of all settings, in Markdown."""
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
