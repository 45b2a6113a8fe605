"""Settings: layers, errors, and the texts generated from them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

import pytest

from gossamer.config import CrawlSettings, Settings, decode_crawl_settings, init_text, load
from gossamer.config.describe import all_settings, sections
from gossamer.config.named import NamedSettings, keywords_to_keys, setting_keyword
from gossamer.errors import SettingsError

if TYPE_CHECKING:
    from gossamer.config import LoadedSettings


@pytest.fixture(autouse=True)
def in_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep out the developer's own gossamer.toml."""
    monkeypatch.chdir(tmp_path)


def load_layers(
    toml: str = "",
    *,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
    stored: Mapping[str, object] | None = None,
) -> LoadedSettings:
    if toml:
        Path("gossamer.toml").write_text(toml)
    return load(file=None, store_dir=None, environ=environ or {}, flags=flags or {}, stored=stored)


def refusal(toml: str = "", **layers: Mapping[str, object]) -> str:
    with pytest.raises(SettingsError) as caught:
        load_layers(toml, **layers)  # type: ignore[arg-type]
    return str(caught.value)


# -- layers ----------------------------------------------------------------------------------------------------------


def test_defaults_apply_without_any_layer() -> None:
    loaded = load_layers()
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.file is None


def test_each_layer_overrides_the_one_before() -> None:
    layers: list[tuple[int, str]] = []
    toml, environ = "[crawl]\nmax_depth = 2\n", {"GOSSAMER_CRAWL_MAX_DEPTH": "3"}
    stored, flags = {"max_depth": 1}, {"crawl.max_depth": "4"}
    for loaded in (
        load_layers(stored=stored),
        load_layers(toml, stored=stored),
        load_layers(toml, stored=stored, environ=environ),
        load_layers(toml, stored=stored, environ=environ, flags=flags),
    ):
        assert loaded.settings.crawl.max_depth is not None
        layers.append((loaded.settings.crawl.max_depth, loaded.origins["crawl.max_depth"]))
    assert layers == [(1, "the web"), (2, "gossamer.toml"), (3, "GOSSAMER_CRAWL_MAX_DEPTH"), (4, "--max-depth")]


def test_an_absent_flag_changes_nothing() -> None:
    assert load_layers("[crawl]\nscope = 'any'\n", flags={"crawl.scope": None}).settings.crawl.scope == "any"


@pytest.mark.parametrize(
    ("layer", "origin"),
    [
        ({"toml": "[crawl]\ntopic = 'silk'\n"}, "gossamer.toml"),
        ({"environ": {"GOSSAMER_CRAWL_TOPIC": "silk"}}, "GOSSAMER_CRAWL_TOPIC"),
        ({"flags": {"crawl.topic": "silk"}}, "--topic"),
        ({"stored": {"topic": "silk", "order": "breadth"}}, "the web"),  # as older versions store it
        ({"stored": {"topic": "silk", "order": "depth"}}, "the web"),
    ],
)
def test_a_topic_sets_the_order_to_best(layer: dict[str, Any], origin: str) -> None:
    loaded = load_layers(**layer)
    assert loaded.settings.crawl.order == "best"
    assert loaded.origins["crawl.order"] == origin


def test_a_topic_refuses_any_order_but_best() -> None:
    toml = "[crawl]\norder = 'depth'\n"
    assert refusal(toml, flags={"crawl.topic": "silk"}) == (
        'A topic (--topic) only works with the order "best", and crawl.order is "depth" (gossamer.toml): '
        'set it to "best", or the topic to "".'
    )
    assert refusal(flags={"crawl.topic": "silk", "crawl.order": "breadth"})
    assert refusal(flags={"crawl.order": "depth"}, stored={"topic": "silk", "order": "depth"})
    assert load_layers(toml, flags={"crawl.topic": ""}, stored={"topic": "silk"}).settings.crawl.order == "depth"


def test_none_removes_a_stored_value() -> None:
    stored = {"max_pages": 10, "max_depth": 3}
    loaded = load_layers('[crawl]\nmax_depth = "none"\n', stored=stored, flags={"crawl.max_pages": "none"})
    assert loaded.settings.crawl.max_pages is None
    assert loaded.settings.crawl.max_depth is None


def test_none_stays_a_value_where_it_is_a_choice() -> None:
    assert load_layers("[crawl]\ncheck = 'none'\n", stored={"check": "all"}).settings.crawl.check == "none"


def test_a_stored_default_keeps_the_origin_default() -> None:
    loaded = load_layers(stored={"scope": "host", "order": "best"})
    assert (loaded.origins["crawl.scope"], loaded.origins["crawl.order"]) == ("default", "the web")


def test_unknown_stored_settings_are_ignored() -> None:
    assert load_layers(stored={"setting_of_long_ago": 1}).settings == Settings()
    assert decode_crawl_settings('{"setting_of_long_ago": 1, "max_depth": 2}') == CrawlSettings(max_depth=2)


def test_the_file_in_the_web_wins_over_the_current_directory(tmp_path: Path) -> None:
    web = tmp_path / "web"
    web.mkdir()
    (web / "gossamer.toml").write_text("[crawl]\nmax_depth = 1\n")
    Path("gossamer.toml").write_text("[crawl]\nmax_depth = 2\n")
    loaded = load(file=None, store_dir=web, environ={}, flags={})
    assert loaded.settings.crawl.max_depth == 1
    assert loaded.origins["crawl.max_depth"] == str(web / "gossamer.toml")


def test_a_missing_settings_file_is_an_error() -> None:
    with pytest.raises(SettingsError, match=r"no settings file at nowhere\.toml"):
        load(file=Path("nowhere.toml"), store_dir=None, environ={}, flags={})


@pytest.mark.parametrize(("text", "value"), [("true", True), ("on", True), ("0", False), ("No", False)])
def test_variables_accept_the_usual_words_for_true_and_false(text: str, value: bool) -> None:
    assert load_layers(environ={"GOSSAMER_CRAWL_ROBOTS": text}).settings.crawl.robots is value


def test_variables_split_lists_at_commas() -> None:
    loaded = load_layers(environ={"GOSSAMER_CRAWL_DOMAINS": "example.org, example.net,"})
    assert loaded.settings.crawl.domains == ("example.org", "example.net")


def test_a_pattern_flag_may_contain_commas() -> None:
    assert load_layers(flags={"crawl.include": ("a{1,2}",)}).settings.crawl.include == ("a{1,2}",)


def test_a_negative_switch_is_named_as_typed() -> None:
    assert load_layers(flags={"crawl.links": False}).origins["crawl.links"] == "--no-links"


def test_a_whole_number_is_accepted_for_a_decimal_setting() -> None:
    assert load_layers("[politeness]\ndelay = 2\n").settings.politeness.delay == 2.0


def test_hosts_have_their_own_settings() -> None:
    loaded = load_layers('[hosts."localhost:8080"]\ndelay = 0\nusername = "me"\npassword_env = "SECRET"\n')
    assert loaded.settings.hosts["localhost:8080"].delay == 0.0
    assert loaded.origins['hosts."localhost:8080".username'] == "gossamer.toml"


@pytest.mark.parametrize("host", ["http://example.org", "https://example.org", "http://localhost:8080"])
def test_a_host_may_be_written_with_its_scheme(host: str) -> None:
    assert load_layers(f'[hosts."{host}"]\ndelay = 3\n').settings.hosts[host].delay == 3.0


@pytest.mark.parametrize("flags", [{"crawl.exclude": ("none",)}, {"crawl.exclude": []}])
def test_a_stored_list_can_be_emptied(flags: Mapping[str, object]) -> None:
    stored = {"exclude": ["print="]}
    assert load_layers(stored=stored).settings.crawl.exclude == ("print=",)
    assert load_layers(stored=stored, flags=flags).settings.crawl.exclude == ()
    assert load_layers(stored=stored, environ={"GOSSAMER_CRAWL_EXCLUDE": "none"}).settings.crawl.exclude == ()


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("[crawl]\nmax_dept = 3\n", ["gossamer.toml", "crawl.max_dept", "mean crawl.max_depth?"]),
        ("[politeness]\nmax_depth = 3\n", ["politeness.max_depth", "mean crawl.max_depth?"]),
        ("max_depth = 3\n", ["no setting max_depth", "mean crawl.max_depth?"]),
        ("[crawll]\nscope = 'host'\n", ["no setting crawll", "mean crawl?"]),
        ('[hosts."a.example"]\ndely = 3\n', ['hosts."a.example".dely', "mean", "delay?"]),
        ("crawl = 3\n", ["crawl is a section", "[crawl]"]),
        ("[crawl]\nmax_depth = 'deep'\n", ["crawl.max_depth", '"deep"', "a whole number from 0"]),
        ("[crawl]\nmax_depth = -1\n", ["crawl.max_depth", "-1", "from 0"]),
        ("[crawl]\nmax_pages = 0\n", ["crawl.max_pages", "from 1"]),
        ("[crawl]\nmax_depth = true\n", ["true", "a whole number"]),
        ("[crawl]\nscope = 'moon'\n", ['"moon"', '"host", "domain", "prefix", "any"']),
        ("[crawl]\nrobots = 'maybe'\n", ['"maybe"', "true or false"]),
        ("[crawl]\ninclude = ['(']\n", ["crawl.include", '"("', "regular expression"]),
        ("[crawl]\naccept = ['html']\n", ['"html"', "media type"]),
        ("[crawl]\ndomains = ['https://example.org/']\n", ["not a domain"]),
        ("[politeness]\ndelay = inf\n", ["politeness.delay", "from 0"]),
        ("[fetch]\nallow_private = ['10.0.0.0/40']\n", ['"10.0.0.0/40"', "address range"]),
        ("[fetch]\nproxy = 'gopher://p'\n", ["gopher", "socks5h"]),
        ("[fetch]\nca_file = 'missing.pem'\n", ["fetch.ca_file", "missing.pem"]),
        ('[fetch]\ncontact = "a\\r\\nX-Evil: 1"\n', ["control character"]),
        ("[search_service]\nurl = 'https://search.example/'\n", ["{query}"]),
        ('[hosts."https://example.org/"]\ndelay = 1\n', ["a host is written as in URLs"]),
        ("[crawl\n", ["gossamer.toml", "not valid TOML", "line 1"]),
    ],
)
def test_an_error_in_the_file_is_reported_in_one_sentence(toml: str, words: list[str]) -> None:
    sentence = refusal(toml)
    for word in words:
        assert word in sentence
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))


def test_a_binary_file_is_reported_as_invalid_toml() -> None:
    Path("gossamer.toml").write_bytes(b"\xff\xfe")
    assert "not valid TOML" in refusal()


def test_an_invalid_variable_is_named() -> None:
    assert refusal(environ={"GOSSAMER_CRAWL_MAX_DEPTH": "x"}).startswith('GOSSAMER_CRAWL_MAX_DEPTH is "x", and must be')


def test_an_invalid_flag_is_named_as_typed() -> None:
    assert refusal(flags={"crawl.max_depth": "x"}).startswith('--max-depth is "x", and must be')


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("GOSSAMER_CRAWL_MAX_DEPHT", "GOSSAMER_CRAWL_MAX_DEPTH"),
        ("GOSSAMER_MAX_DEPTH", "GOSSAMER_CRAWL_MAX_DEPTH"),
        ("GOSSAMER_POLITNESS_DELAY", "GOSSAMER_POLITENESS_DELAY"),
    ],
)
def test_a_misspelt_variable_suggests_the_correct_one(variable: str, meant: str) -> None:
    assert refusal(environ={variable: "3"}) == f"{variable} is not a setting. Did you mean {meant}?"


@pytest.mark.parametrize(
    "variable",
    [
        "GOSSAMER_STORE",
        "GOSSAMER_CONFIG",
        "GOSSAMER_LOG_FILE",
        "GOSSAMER_SERVICE_HOST",
        "GOSSAMER_PORT",
        "GOSSAMER_TOKEN",
    ],
)
def test_variables_of_other_programs_are_ignored(variable: str) -> None:
    assert load_layers(environ={variable: "anything"}).settings == Settings()


# -- secrets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Authorization", "cookie", "PROXY-AUTHORIZATION"])
def test_a_secret_header_in_the_file_is_refused_without_repeating_it(name: str) -> None:
    sentence = refusal(f'[hosts."example.org"]\nheaders = {{ {name} = "hunter2" }}\n')
    assert "_env" in sentence
    assert "hunter2" not in sentence


def test_a_secret_instead_of_its_variable_is_refused_without_repeating_it() -> None:
    sentence = refusal('[hosts."example.org"]\nheaders_env = { Authorization = "Bearer hunter2" }\n')
    assert "environment variable" in sentence
    assert "hunter2" not in sentence


def test_a_proxy_password_is_accepted_only_from_the_environment() -> None:
    url = "http://me:hunter2@proxy.example:3128"
    sentence = refusal(f"[fetch]\nproxy = '{url}'\n")
    assert "GOSSAMER_FETCH_PROXY" in sentence
    assert "hunter2" not in sentence
    Path("gossamer.toml").unlink()
    assert load_layers(environ={"GOSSAMER_FETCH_PROXY": url}).settings.fetch.proxy == url


# -- texts generated from the settings -------------------------------------------------------------------------------


def uncomment(text: str) -> str:
    return re.sub(r"^#(?! |$)", "", text, flags=re.MULTILINE)


def test_the_config_init_file_changes_nothing() -> None:
    loaded = load_layers(init_text())
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}


def test_the_uncommented_config_init_file_sets_every_default() -> None:
    defaults = init_text().partition("#[hosts.")[0]
    loaded = load_layers(uncomment(defaults))
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"gossamer.toml"}


def test_the_host_example_of_config_init_is_valid() -> None:
    host = load_layers(uncomment(init_text())).settings.hosts["example.org"]
    assert host.headers_env == {"Authorization": "EXAMPLE_TOKEN"}


def test_the_config_init_file_describes_every_setting() -> None:
    text = init_text()
    assert [setting.key for setting in all_settings() if f"\n# {setting.text}" not in text] == []


def test_flags_are_unique() -> None:
    flags = [setting.flag for setting in all_settings() if setting.flag]
    assert len(flags) == len(set(flags)) > 20


# -- library keywords --------------------------------------------------------------------------------------------------


def keyword_type(kind: object) -> object:
    """Return the type that a program may pass for a setting of this type."""
    if kind == tuple[str, ...]:
        return Sequence[str]
    return kind | Literal["none"] if kind in {int | None, float | None} else kind


def test_named_settings_declare_every_setting_with_its_type() -> None:
    types = {section: get_type_hints(kind) for section, kind in sections().items()}
    expected = {setting_keyword(each): keyword_type(types[each.section][each.name]) for each in all_settings()}
    assert len(expected) == len(all_settings()), "each keyword names one setting"
    declared = get_type_hints(NamedSettings, localns={"Mapping": Mapping, "Sequence": Sequence})
    assert declared == expected | {"hosts": Mapping[str, Mapping[str, object]]}


def test_keywords_set_index_and_host_settings() -> None:
    toml = '[index]\nshards = 2\n[hosts."example.org"]\ndelay = 1\nconnections = 2\n'
    index, hosts = "https://search.example:9200/name", {"example.org": {"delay": 3}, "example.net": {"username": "me"}}
    loaded = load_layers(toml, flags=keywords_to_keys({"index_url": index, "hosts": hosts}))
    assert (loaded.settings.index.url, loaded.settings.index.shards) == (index, 2)
    assert (loaded.settings.hosts["example.org"].delay, loaded.settings.hosts["example.org"].connections) == (3.0, 2)
    assert loaded.origins['hosts."example.net".username'] == "the program"


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ({"example.org": {"dely": 3}}, ['there is no setting hosts."example.org".dely', "delay?"]),
        ({"example.org": {"delay": "soon"}}, ['hosts."example.org".delay is "soon"']),
        ({"https://example.org/": {}}, ["a host is written as in URLs"]),
        ({"example.org": {"headers": {"Cookie": "hunter2"}}}, ["Cookie is a secret"]),
        (["example.org"], ["hosts is a section"]),
    ],
)
def test_invalid_host_keywords_are_reported(hosts: object, words: list[str]) -> None:
    message = refusal(flags=keywords_to_keys({"hosts": hosts}))
    assert message.startswith("the program: ")
    assert "hunter2" not in message
    for word in words:
        assert word in message
