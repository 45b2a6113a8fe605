"""An index on OpenSearch without a cluster: addresses, secrets and queries."""

from __future__ import annotations

import pytest

from gossamer.config import load
from gossamer.errors import SettingsError, UsageError
from gossamer.index.opensearch import Cluster, ClusterAddress
from gossamer.index.opensearch.lease import _is_dead, _machine_id
from gossamer.index.opensearch.queries import Translator
from gossamer.index.opensearch.schema import to_signed
from gossamer.index.protocol import AnyOf, Query, TwinFilter
from helpers.index.small_index import WEIGHTS

SECRETS = {"GOSSAMER_INDEX_USER": "somebody", "GOSSAMER_INDEX_PASSWORD": "secret"}


def test_an_address_has_nodes_and_a_name() -> None:
    assert ClusterAddress.parse("https://one:9200,https://two/web") == ClusterAddress(
        nodes=("https://one:9200", "https://two"), name="web"
    )
    assert str(ClusterAddress.parse("https://one:9200/web/")) == "https://one:9200/web"


@pytest.mark.parametrize(
    "url",
    [
        "https://one:9200", "one:9200/web", "ftp://one/web", "https://one/Web", "https://one/a/b", "https://one/a.b",
        "https://one/web?x=1", "https://one:port/web", "https://one/a,https://two/web", "https:///web",
    ],
)  # fmt: skip
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is not an index URL such as"):
        ClusterAddress.parse(url)


def test_a_password_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError, match="GOSSAMER_INDEX_PASSWORD") as error:
        ClusterAddress.parse("https://somebody:secret@one/web")
    assert "secret" not in str(error.value)


def test_a_password_needs_https_or_loopback() -> None:
    Cluster(ClusterAddress.parse("http://127.0.0.1:9200/web"), SECRETS).close()
    Cluster(ClusterAddress.parse("https://search.example/web"), SECRETS).close()
    with pytest.raises(UsageError, match="unencrypted"):
        Cluster(ClusterAddress.parse("https://search.example,http://other.example/web"), SECRETS)


def test_a_user_name_without_a_password_is_refused() -> None:
    with pytest.raises(UsageError, match="go together"):
        Cluster(ClusterAddress.parse("https://search.example/web"), {"GOSSAMER_INDEX_USER": "somebody"})


def test_secrets_come_from_the_environment_and_not_from_settings() -> None:
    loaded = load(file=None, store_dir=None, environ={**SECRETS, "GOSSAMER_INDEX_URL": "https://one/web"}, flags={})
    assert loaded.settings.index.url == "https://one/web"
    assert "secret" not in repr(loaded)
    with pytest.raises(SettingsError, match="GOSSAMER_INDEX_PASSWORD") as error:
        load(file=None, store_dir=None, environ={"GOSSAMER_INDEX_URL": "https://somebody:secret@one/web"}, flags={})
    assert "secret" not in str(error.value)


def test_signed_text_hashes_keep_their_bits() -> None:
    assert [to_signed(number) for number in (0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)] == [
        0, 1, (1 << 63) - 1, -(1 << 63), -1,
    ]  # fmt: skip


def test_many_twin_filters_become_one_terms_query() -> None:
    query = Query(required=(AnyOf(children=tuple(TwinFilter(value=number) for number in range(2_000))),))
    (texts, _) = Translator(WEIGHTS).first_pass(query)["bool"]["must"]
    assert len(texts["constant_score"]["filter"]["terms"]["twin"]) == 2_000


def test_only_processes_of_this_machine_are_found_dead() -> None:
    assert _is_dead(f"{_machine_id()} 1 0 x"), "process 1 exists, but started at another time"
    assert not _is_dead("another-machine/pid:[1] 1 0 x")
