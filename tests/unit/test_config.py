"""Settings: layers, errors, and the texts made of them."""

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
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No gossamer.toml of the developer's own comes in."""
    monkeypatch.chdir(tmp_path)


def settle(
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
        settle(toml, **layers)  # type: ignore[arg-type]
    return str(caught.value)


# -- layers ----------------------------------------------------------------------------------------------------------


def test_without_any_layer_the_defaults_hold() -> None:
    loaded = settle()
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.file is None


def test_each_layer_wins_over_the_one_before() -> None:
    layers: list[tuple[int, str]] = []
    toml, environ = "[crawl]\nmax_depth = 2\n", {"GOSSAMER_CRAWL_MAX_DEPTH": "3"}
    stored, flags = {"max_depth": 1}, {"crawl.max_depth": "4"}
    for loaded in (
        settle(stored=stored),
        settle(toml, stored=stored),
        settle(toml, stored=stored, environ=environ),
        settle(toml, stored=stored, environ=environ, flags=flags),
    ):
        assert loaded.settings.crawl.max_depth is not None
        layers.append((loaded.settings.crawl.max_depth, loaded.origins["crawl.max_depth"]))
    assert layers == [(1, "the web"), (2, "gossamer.toml"), (3, "GOSSAMER_CRAWL_MAX_DEPTH"), (4, "--max-depth")]


def test_a_flag_that_was_not_given_changes_nothing() -> None:
    assert settle("[crawl]\nscope = 'any'\n", flags={"crawl.scope": None}).settings.crawl.scope == "any"


@pytest.mark.parametrize(
    ("layer", "origin"),
    [
        ({"toml": "[crawl]\ntopic = 'silk'\n"}, "gossamer.toml"),
        ({"environ": {"GOSSAMER_CRAWL_TOPIC": "silk"}}, "GOSSAMER_CRAWL_TOPIC"),
        ({"flags": {"crawl.topic": "silk"}}, "--topic"),
        ({"stored": {"topic": "silk", "order": "breadth"}}, "the web"),  # of a web crawled before this was so
        ({"stored": {"topic": "silk", "order": "depth"}}, "the web"),
    ],
)
def test_a_topic_sets_the_order_that_heeds_it(layer: dict[str, Any], origin: str) -> None:
    loaded = settle(**layer)
    assert loaded.settings.crawl.order == "best"
    assert loaded.origins["crawl.order"] == origin


def test_another_order_than_best_is_refused_with_a_topic() -> None:
    toml = "[crawl]\norder = 'depth'\n"
    assert refusal(toml, flags={"crawl.topic": "silk"}) == (
        'A topic (--topic) is heeded by the order "best" alone, and crawl.order is "depth" (gossamer.toml): '
        'set it to "best", or the topic to "".'
    )
    assert refusal(flags={"crawl.topic": "silk", "crawl.order": "breadth"})
    assert refusal(flags={"crawl.order": "depth"}, stored={"topic": "silk", "order": "depth"})
    assert settle(toml, flags={"crawl.topic": ""}, stored={"topic": "silk"}).settings.crawl.order == "depth"


def test_none_takes_a_value_away_again() -> None:
    stored = {"max_pages": 10, "max_depth": 3}
    loaded = settle('[crawl]\nmax_depth = "none"\n', stored=stored, flags={"crawl.max_pages": "none"})
    assert loaded.settings.crawl.max_pages is None
    assert loaded.settings.crawl.max_depth is None


def test_the_word_none_stays_a_value_where_it_is_one() -> None:
    assert settle("[crawl]\ncheck = 'none'\n", stored={"check": "all"}).settings.crawl.check == "none"


def test_only_what_differs_from_the_default_came_from_the_web() -> None:
    loaded = settle(stored={"scope": "host", "order": "best"})
    assert (loaded.origins["crawl.scope"], loaded.origins["crawl.order"]) == ("default", "the web")


def test_a_setting_of_another_version_in_the_web_does_no_harm() -> None:
    assert settle(stored={"setting_of_long_ago": 1}).settings == Settings()
    assert decode_crawl_settings('{"setting_of_long_ago": 1, "max_depth": 2}') == CrawlSettings(max_depth=2)


def test_the_webs_own_file_comes_before_the_one_in_the_current_directory(tmp_path: Path) -> None:
    web = tmp_path / "web"
    web.mkdir()
    (web / "gossamer.toml").write_text("[crawl]\nmax_depth = 1\n")
    Path("gossamer.toml").write_text("[crawl]\nmax_depth = 2\n")
    loaded = load(file=None, store_dir=web, environ={}, flags={})
    assert loaded.settings.crawl.max_depth == 1
    assert loaded.origins["crawl.max_depth"] == str(web / "gossamer.toml")


def test_a_file_that_is_asked_for_must_be_there() -> None:
    with pytest.raises(SettingsError, match=r"no settings file at nowhere\.toml"):
        load(file=Path("nowhere.toml"), store_dir=None, environ={}, flags={})


@pytest.mark.parametrize(("text", "value"), [("true", True), ("on", True), ("0", False), ("No", False)])
def test_variables_switch_with_the_usual_words(text: str, value: bool) -> None:
    assert settle(environ={"GOSSAMER_CRAWL_ROBOTS": text}).settings.crawl.robots is value


def test_variables_hold_lists_with_commas() -> None:
    loaded = settle(environ={"GOSSAMER_CRAWL_DOMAINS": "example.org, example.net,"})
    assert loaded.settings.crawl.domains == ("example.org", "example.net")


def test_a_pattern_given_as_a_flag_may_hold_commas() -> None:
    assert settle(flags={"crawl.include": ("a{1,2}",)}).settings.crawl.include == ("a{1,2}",)


def test_a_switched_off_flag_is_told_as_it_was_typed() -> None:
    assert settle(flags={"crawl.links": False}).origins["crawl.links"] == "--no-links"


def test_a_whole_number_is_a_number() -> None:
    assert settle("[politeness]\ndelay = 2\n").settings.politeness.delay == 2.0


def test_hosts_have_settings_of_their_own() -> None:
    loaded = settle('[hosts."localhost:8080"]\ndelay = 0\nusername = "me"\npassword_env = "SECRET"\n')
    assert loaded.settings.hosts["localhost:8080"].delay == 0.0
    assert loaded.origins['hosts."localhost:8080".username'] == "gossamer.toml"


@pytest.mark.parametrize("host", ["http://example.org", "https://example.org", "http://localhost:8080"])
def test_a_host_may_be_written_with_its_scheme(host: str) -> None:
    assert settle(f'[hosts."{host}"]\ndelay = 3\n').settings.hosts[host].delay == 3.0


@pytest.mark.parametrize("flags", [{"crawl.exclude": ("none",)}, {"crawl.exclude": []}])
def test_a_list_kept_with_the_web_can_be_emptied(flags: Mapping[str, object]) -> None:
    stored = {"exclude": ["print="]}
    assert settle(stored=stored).settings.crawl.exclude == ("print=",)
    assert settle(stored=stored, flags=flags).settings.crawl.exclude == ()
    assert settle(stored=stored, environ={"GOSSAMER_CRAWL_EXCLUDE": "none"}).settings.crawl.exclude == ()


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
        ("[crawl]\ndomains = ['https://example.org/']\n", ["no domain"]),
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
def test_a_wrong_file_is_told_in_a_sentence(toml: str, words: list[str]) -> None:
    sentence = refusal(toml)
    for word in words:
        assert word in sentence
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))


def test_bytes_that_are_no_text_are_told_in_a_sentence() -> None:
    Path("gossamer.toml").write_bytes(b"\xff\xfe")
    assert "not valid TOML" in refusal()


def test_a_wrong_variable_is_named() -> None:
    assert refusal(environ={"GOSSAMER_CRAWL_MAX_DEPTH": "x"}).startswith('GOSSAMER_CRAWL_MAX_DEPTH is "x", and must be')


def test_a_wrong_flag_is_named_as_it_was_typed() -> None:
    assert refusal(flags={"crawl.max_depth": "x"}).startswith('--max-depth is "x", and must be')


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("GOSSAMER_CRAWL_MAX_DEPHT", "GOSSAMER_CRAWL_MAX_DEPTH"),
        ("GOSSAMER_MAX_DEPTH", "GOSSAMER_CRAWL_MAX_DEPTH"),
        ("GOSSAMER_POLITNESS_DELAY", "GOSSAMER_POLITENESS_DELAY"),
    ],
)
def test_a_misspelt_variable_is_an_error_with_the_one_that_was_meant(variable: str, meant: str) -> None:
    assert refusal(environ={variable: "3"}) == f"{variable} is no setting. Did you mean {meant}?"


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
def test_variables_of_others_are_left_alone(variable: str) -> None:
    assert settle(environ={variable: "anything"}).settings == Settings()


# -- secrets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Authorization", "cookie", "PROXY-AUTHORIZATION"])
def test_a_secret_header_in_the_file_is_refused_without_repeating_it(name: str) -> None:
    sentence = refusal(f'[hosts."example.org"]\nheaders = {{ {name} = "hunter2" }}\n')
    assert "_env" in sentence
    assert "hunter2" not in sentence


def test_a_secret_in_place_of_its_variable_is_refused_without_repeating_it() -> None:
    sentence = refusal('[hosts."example.org"]\nheaders_env = { Authorization = "Bearer hunter2" }\n')
    assert "environment variable" in sentence
    assert "hunter2" not in sentence


def test_a_proxy_password_belongs_into_the_environment() -> None:
    url = "http://me:hunter2@proxy.example:3128"
    sentence = refusal(f"[fetch]\nproxy = '{url}'\n")
    assert "GOSSAMER_FETCH_PROXY" in sentence
    assert "hunter2" not in sentence
    Path("gossamer.toml").unlink()
    assert settle(environ={"GOSSAMER_FETCH_PROXY": url}).settings.fetch.proxy == url


# -- texts made of the settings --------------------------------------------------------------------------------------


def uncommented(text: str) -> str:
    return re.sub(r"^#(?! |$)", "", text, flags=re.MULTILINE)


def test_the_file_of_config_init_changes_nothing_as_it_is() -> None:
    loaded = settle(init_text())
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}


def test_the_file_of_config_init_uncommented_gives_every_default() -> None:
    defaults = init_text().partition("#[hosts.")[0]
    loaded = settle(uncommented(defaults))
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"gossamer.toml"}


def test_the_example_of_a_host_in_config_init_is_right() -> None:
    host = settle(uncommented(init_text())).settings.hosts["example.org"]
    assert host.headers_env == {"Authorization": "EXAMPLE_TOKEN"}


def test_the_file_of_config_init_describes_every_setting() -> None:
    text = init_text()
    assert [setting.key for setting in all_settings() if f"\n# {setting.text}" not in text] == []


def test_flags_are_unique() -> None:
    flags = [setting.flag for setting in all_settings() if setting.flag]
    assert len(flags) == len(set(flags)) > 20


# -- names in code -----------------------------------------------------------------------------------------------------


def in_code(kind: object) -> object:
    """What a program may give for a setting of this type."""
    if kind == tuple[str, ...]:
        return Sequence[str]
    return kind | Literal["none"] if kind in {int | None, float | None} else kind


def test_programs_can_name_every_setting_and_type_checkers_know_it() -> None:
    types = {section: get_type_hints(kind) for section, kind in sections().items()}
    known = {setting_keyword(each): in_code(types[each.section][each.name]) for each in all_settings()}
    assert len(known) == len(all_settings()), "a name is one setting's only"
    told = get_type_hints(NamedSettings, localns={"Mapping": Mapping, "Sequence": Sequence})
    assert told == known | {"hosts": Mapping[str, Mapping[str, object]]}


def test_a_program_gives_settings_of_the_index_and_of_hosts() -> None:
    toml = '[index]\nshards = 2\n[hosts."example.org"]\ndelay = 1\nconnections = 2\n'
    index, hosts = "https://search.example:9200/name", {"example.org": {"delay": 3}, "example.net": {"username": "me"}}
    loaded = settle(toml, flags=keywords_to_keys({"index_url": index, "hosts": hosts}))
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
def test_what_a_program_says_wrongly_of_hosts_is_told(hosts: object, words: list[str]) -> None:
    told = refusal(flags=keywords_to_keys({"hosts": hosts}))
    assert told.startswith("the program: ")
    assert "hunter2" not in told
    for word in words:
        assert word in told
