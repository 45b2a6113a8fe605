"""The index on a real OpenSearch: the contract of every index, and faults that only a cluster has.

All tests are in one file, so that one worker of pytest starts the cluster. Tests that kill a node come last.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings

from conftest import skip_or_fail
from contract import test_index, test_index_typeahead
from contract.test_index_properties import History, changes, check_agreement
from gossamer import wiring
from gossamer.errors import (
    IndexBusy,
    IndexFault,
    IndexFull,
    IndexRefused,
    IndexUnreachable,
)
from gossamer.index.build import update_index
from gossamer.index.opensearch import Cluster, ClusterAddress, OpenSearchLocation, OpenSearchReader, OpenSearchWriter
from helpers.cli.commands import FAST, command, crawl, environment, gossamer
from helpers.index.agreement import agreement, random_queries
from helpers.index.small_index import WEIGHTS, documents, fill, indexable, page, words
from helpers.patience import PATIENCE, until
from helpers.search.quality import cranfield, score_collection
from helpers.suites import suite
from opensearch import jars
from opensearch.cluster import OpenSearchNodes
from opensearch.proxy import Proxy
from webs import debian
from webs.nginx import Nginx, Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from gossamer.index.protocol import IndexProgress

# The contract tests of every index: pytest collects them here, with the `index` fixture of this file.
for contract in (test_index, test_index_typeahead):
    globals().update({name: test for name, test in vars(contract).items() if name.startswith(("test_", "typed_"))})

NUMBERS = count(1)
SHORT = 0.5  # seconds of patience for a fault that does not pass


@pytest.fixture(scope="module")
def class_path() -> str:
    """Return the class path of OpenSearch."""
    found = jars.get()
    if found is None:
        skip_or_fail("OpenSearch is not here: `make test-packages` gets it, with Maven and a JDK")
    return found


@pytest.fixture(scope="module")
def one_node(class_path: str) -> Iterator[OpenSearchNodes]:
    """Start a cluster of one node, enough for all tests that kill none."""
    with OpenSearchNodes(class_path, 1) as node:
        yield node


@pytest.fixture(scope="module")
def three_nodes(class_path: str) -> Iterator[OpenSearchNodes]:
    """Start a cluster of three nodes, one of which a test may kill."""
    with OpenSearchNodes(class_path, 3) as cluster:
        yield cluster


class ClusterIndex:
    """An index on the cluster for one test."""

    def __init__(self, url: str, stack: ExitStack, replicas: int = 0) -> None:
        self.url, self._stack, self._replicas = url, stack, replicas

    def location(self, url: str = "", *, patience: float = PATIENCE) -> OpenSearchLocation:
        cluster = Cluster(ClusterAddress.parse(url or self.url), {}, retry_seconds=patience)
        return OpenSearchLocation(cluster, shards=2, replicas=self._replicas)

    def writer(self, *, rebuild: bool = False) -> OpenSearchWriter:
        return OpenSearchWriter(self.location(), rebuild=rebuild)

    def reader(self) -> OpenSearchReader:
        return self._stack.enter_context(closing(OpenSearchReader(self.location())))

    def request(self, method: str, path: str, body: object = None) -> Any:
        """Send a request to the cluster; `NAME` stands for the index."""
        with closing(self.location().cluster) as cluster:
            return cluster.request(method, path.replace("NAME", cluster.address.name), body)

    def find(self, text: str) -> list[int]:
        return sorted(self.reader().match(words(text), WEIGHTS, limit=99).ids.tolist())

    def url_through(self, proxy: Proxy) -> str:
        return f"{proxy.node}/{ClusterAddress.parse(self.url).name}"


@pytest.fixture
def new_index(one_node: OpenSearchNodes) -> Iterator[Callable[[], ClusterIndex]]:
    """Return a function that creates empty, separate indexes; all are deleted after the test."""
    created: list[ClusterIndex] = []
    with ExitStack() as stack:

        def create() -> ClusterIndex:
            created.append(ClusterIndex(one_node.url(f"test-{next(NUMBERS)}"), stack))
            return created[-1]

        yield create
    for one in created:
        one.request("DELETE", "/NAME.*")


@pytest.fixture
def index(new_index: Callable[[], ClusterIndex]) -> ClusterIndex:
    """An empty index."""
    return new_index()


@settings(max_examples=3, suppress_health_check=list(HealthCheck))
@given(history=changes)
def test_the_index_agrees_with_a_scan_of_every_page(new_index: Callable[[], ClusterIndex], history: History) -> None:
    check_agreement(new_index(), history)


# -- one writer --------------------------------------------------------------------------------------------------------


def expire(index: ClusterIndex) -> None:
    """Let the writer's lease expire, as if the writer had slept for long."""
    lease = index.request("GET", "/NAME.state/_doc/lease")["_source"]
    index.request("PUT", "/NAME.state/_doc/lease", {**lease, "until": 0.0})


def test_a_late_write_overwrites_nothing_newer(index: ClusterIndex) -> None:
    late = index.writer()
    late.put(documents(indexable(1, page("Egg")), indexable(2, page("Egg"))))
    expire(index)
    with closing(index.writer()) as writer:
        fill(writer, indexable(1, page("Ham")), version=2)
        writer.remove([2])
        writer.commit(3)
        with pytest.raises(IndexBusy, match="taken over"):
            late.commit(1)
        late.close()
        writer.commit(4)
    assert (index.find("egg"), index.find("ham"), index.reader().version) == ([], [1], 4)


def test_a_writer_killed_on_this_machine_is_replaced_at_once(index: ClusterIndex) -> None:
    code = (
        "import sys, time\n"
        "from gossamer.index.opensearch import *\n"
        "writer = OpenSearchWriter(OpenSearchLocation(Cluster(ClusterAddress.parse(sys.argv[1]), {})))\n"
        "print('writing', flush=True)\n"
        f"time.sleep({PATIENCE})"
    )
    with subprocess.Popen([sys.executable, "-c", code, index.url], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "writing\n"
        with pytest.raises(IndexBusy):
            index.writer()
        other.kill()
    with closing(index.writer()) as writer:
        assert writer.attempts == 2
        fill(writer, indexable(1, page("Egg")))
        assert writer.attempts == 0, "a commit resets the attempts"


# -- faults of cluster and network -------------------------------------------------------------------------------------


def test_a_document_that_the_cluster_refuses_is_set_aside_with_its_reason(index: ClusterIndex) -> None:
    good, bad = documents(indexable(1, page("Egg")), indexable(2, page("Egg"), media_type="x" * 40_000))
    with closing(index.writer()) as writer:
        writer.put([bad, good])
        writer.commit(1)
    assert index.find("egg") == [1]
    assert "media_type" in index.reader().set_aside_documents()[2]


def test_a_busy_cluster_is_asked_again(index: ClusterIndex, one_node: OpenSearchNodes) -> None:
    def busy(path: str, number: int) -> int:
        return 429 if path.endswith("_bulk") and number <= 3 else 0

    with Proxy(one_node.nodes[0], refuse=busy) as proxy:
        with closing(OpenSearchWriter(index.location(index.url_through(proxy)))) as writer:
            fill(writer, indexable(1, page("Egg")))
        assert sum(path.endswith("pages/_bulk") for path in proxy.requests) == 4
    assert index.find("egg") == [1]


def test_a_cluster_that_stays_busy_is_reported(index: ClusterIndex, one_node: OpenSearchNodes) -> None:
    with Proxy(one_node.nodes[0], refuse=lambda path, _: 429 if path.endswith("_bulk") else 0) as proxy:
        writer = OpenSearchWriter(index.location(index.url_through(proxy), patience=SHORT))
        writer.put(documents(indexable(1, page("Egg"))))
        with pytest.raises(IndexUnreachable, match="cannot answer now"):
            writer.commit(1)
        writer.close()
    assert index.reader().version == 0


def test_lost_responses_do_no_harm(index: ClusterIndex, one_node: OpenSearchNodes) -> None:
    with Proxy(one_node.nodes[0], lose=lambda _, number: number % 2 == 1) as proxy:
        for version, text in ((1, "egg"), (2, "ham")):
            with closing(OpenSearchWriter(index.location(index.url_through(proxy)))) as writer:
                fill(writer, indexable(1, page("Menu", text)), version=version)
                writer.note_forms({("Eggs", "egg"): 3})
                writer.commit(10 + version)
    assert (index.find("egg"), index.find("ham"), index.reader().version) == ([], [1], 12)
    assert index.reader().words_like("Eggs") == [("Eggs", 6)]


def test_a_lost_point_in_time_is_replaced_by_a_new_one(index: ClusterIndex) -> None:
    with closing(index.writer()) as writer:
        fill(writer, indexable(1, page("Egg")))
        reader = index.reader()
        assert reader.is_current()
        index.request("DELETE", "/_search/point_in_time/_all")
        assert reader.match(words("egg"), WEIGHTS, limit=9).total == 1
        assert not reader.is_current(), "its holder must open another reader"


def test_a_reader_continues_with_a_rebuilt_index(index: ClusterIndex) -> None:
    with closing(index.writer()) as writer:
        fill(writer, indexable(1, page("Egg")))
    reader = index.reader()
    with closing(index.writer(rebuild=True)) as writer:
        fill(writer, indexable(2, page("Egg")))
        writer.complete()
    assert reader.match(words("egg"), WEIGHTS, limit=9).ids.tolist() == [2]
    left = index.request("GET", "/_cat/indices/NAME.*?format=json&h=index")
    assert {one["index"].split(".")[1] for one in left} == {"2", "state"}, "the old one is gone"


def test_a_full_disk_of_the_cluster_is_reported(index: ClusterIndex) -> None:
    with closing(index.writer()) as writer:
        fill(writer, indexable(1, page("Egg")))
        index.request("PUT", "/NAME.*.pages/_settings", {"index.blocks.read_only_allow_delete": True})
        writer.put(documents(indexable(2, page("Egg"))))
        with pytest.raises(IndexFull, match="disk is nearly full"):
            writer.commit(2)
    assert index.find("egg") == [1]


def test_an_unreachable_cluster_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = server.getsockname()[1]
        cluster = Cluster(ClusterAddress.parse(f"http://127.0.0.1:{silent}/web"), {}, retry_seconds=SHORT)
        with pytest.raises(IndexUnreachable, match="did not answer in time"):
            cluster.request("GET", "/", timeout_seconds=0.1)
    with pytest.raises(IndexUnreachable, match=rf"127.0.0.1:{silent}/web cannot be reached \(.*refused\)"):
        cluster.request("GET", "/")


def test_a_password_from_the_environment_is_sent_over_tls(
    one_node: OpenSearchNodes, index: ClusterIndex, tmp_path: Path
) -> None:
    certificate = tmp_path / "certificate.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(
        [*make.split(), "-keyout", certificate, "-out", tmp_path / "out.pem"], check=True, capture_output=True
    )
    certificate.write_text(certificate.read_text() + (tmp_path / "out.pem").read_text())
    secrets = {"GOSSAMER_INDEX_USER": "somebody", "GOSSAMER_INDEX_PASSWORD": "secret"}
    with Proxy(one_node.nodes[0], certificate=certificate) as proxy:
        address = ClusterAddress.parse(index.url_through(proxy))
        location = OpenSearchLocation(Cluster(address, secrets, ca_file=str(tmp_path / "out.pem")), replicas=0)
        with closing(OpenSearchWriter(location)) as writer:
            fill(writer, indexable(1, page("Egg")))
        assert proxy.authorizations == {"Basic c29tZWJvZHk6c2VjcmV0"}
        with pytest.raises(IndexUnreachable, match=r"securely .*index\.ca_file"):
            Cluster(address, secrets).request("GET", "/")
    assert index.find("egg") == [1]


@pytest.mark.parametrize(("status", "sentence"), [(401, "wants a user name"), (403, "does not allow this")])
def test_a_cluster_that_refuses_access_is_reported(one_node: OpenSearchNodes, status: int, sentence: str) -> None:
    secrets = {"GOSSAMER_INDEX_USER": "somebody", "GOSSAMER_INDEX_PASSWORD": "secret"}
    with (
        Proxy(one_node.nodes[0], refuse=lambda *_: status) as proxy,
        closing(Cluster(ClusterAddress.parse(f"{proxy.node}/web"), secrets)) as cluster,
        pytest.raises(IndexRefused, match=sentence) as error,
    ):
        cluster.request("GET", "/")
    assert "secret" not in str(error.value)


# -- the commands ------------------------------------------------------------------------------------------------------


def test_commands_use_the_index_of_their_settings(
    one_node: OpenSearchNodes, index: ClusterIndex, tmp_path: Path
) -> None:
    (tmp_path / "root").mkdir()
    for name in ("index", "egg", "ham"):
        links = '<a href="egg.html">eggs</a> <a href="ham.html">ham</a>' if name == "index" else ""
        (tmp_path / "root" / f"{name}.html").write_text(f"<title>{name}</title><p>All about {name}.</p>{links}")
    binary = debian.find("nginx")
    if binary is None:
        skip_or_fail("Debian's nginx is not here: run `make test-packages`")
    web, flag = tmp_path / "web", ("--index-url", index.url)
    with Nginx(binary, {"menu": Site(tmp_path / "root")}, log=False) as nginx:
        crawl(nginx.url("menu"), web, *FAST, *flag)

        def run_json(*arguments: object) -> dict[str, Any]:
            done = gossamer(*arguments, "--store", web, "--json", *flag)
            assert done.returncode == 0, done.stderr
            response: dict[str, Any] = json.loads(done.stdout)
            return response

        assert [hit["title"] for hit in run_json("search", "ham")["hits"]] == ["ham", "index"]
        assert run_json("word", "about")["df"] == 3
        assert run_json("index", "--rebuild")["documents"] == 3
        done = gossamer("forget", nginx.url("menu", "/ham.html"), "--yes", "--store", web, *flag)
        assert done.returncode == 0, done.stderr
        (tmp_path / "web" / "gossamer.toml").write_text(f'[index]\nurl = "{index.url}"\n')
        done = gossamer("search", "ham", "--store", web, "--json")
        assert [hit["title"] for hit in json.loads(done.stdout)["hits"]] == ["index"]
    assert not (web / "index").exists()


# -- real pages --------------------------------------------------------------------------------------------------------


def real_web(webs: Nginx, folder: Path, pages: int) -> Path:
    """Crawl this many pages of documentation, with a Tantivy index."""
    first, *others = (webs.url(site, "/index.html") for site in debian.DOCUMENTATION)
    crawl(first, folder, *others, *FAST, "--no-source", "--max-pages", pages)
    return folder


@pytest.fixture(scope="module")
def some_pages(documentation_webs: Nginx, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Crawl some hundred pages."""
    return real_web(documentation_webs, tmp_path_factory.mktemp("pages"), 600)


def update_from(web: Path, index: ClusterIndex, on_progress: Callable[[IndexProgress], None] = lambda _: None) -> None:
    """Update an index from a web."""
    with closing(wiring.open_store(str(web))) as store:
        update_index(store, index.writer, on_progress)


def agreement_with_tantivy(web: Path, index: ClusterIndex, number: int) -> float:
    """Return the share of result positions at which both indexes agree."""
    update_from(web, index)
    with closing(wiring.open_index(str(web))) as here:
        return agreement(web, here, index.reader(), random_queries(web, here, number))


def check_holds_all_of(web: Path, index: ClusterIndex) -> None:
    """Check that an index holds every page of a web, with every word."""
    there = index.reader()
    with closing(wiring.open_index(str(web))) as here:
        ids = sorted(here.ids())
        assert (sorted(there.ids()), there.version) == (ids, here.version)
        expected, actual = here.word_sequences(ids), there.word_sequences(ids)
        assert all((expected[one].words == actual[one].words).all() for one in ids)


def test_the_first_ten_hits_agree_with_tantivy(some_pages: Path, index: ClusterIndex) -> None:
    assert agreement_with_tantivy(some_pages, index, 50) >= 0.9


@pytest.mark.full
@pytest.mark.timeout(1_200)
def test_the_first_ten_hits_agree_with_tantivy_on_five_thousand_pages(
    documentation_webs: Nginx, tmp_path: Path, index: ClusterIndex
) -> None:
    assert agreement_with_tantivy(real_web(documentation_webs, tmp_path / "web", 5_000), index, 200) >= 0.9


@pytest.mark.full
@pytest.mark.timeout(1_200)
@pytest.mark.shared
def test_cranfield_queries_are_answered_well(nginx_binary: Path, tmp_path: Path, index: ClusterIndex) -> None:
    collection = cranfield(suite("ir-cranfield"))
    root, web = tmp_path / "root", tmp_path / "web"
    root.mkdir()
    for path, text in collection.pages.items():
        (root / (path.removeprefix("/") or "index.html")).write_text(text)
    with Nginx(nginx_binary, {"cranfield": Site(root)}, log=False) as nginx:
        crawl(nginx.url("cranfield"), web, *FAST, "--index-url", index.url)
        with closing(wiring.open_store(str(web), read_only=True)) as store:
            figures = score_collection(
                collection, wiring.build_searcher(store, index.reader(), str(web)), nginx.url("cranfield").rstrip("/")
            )
    assert figures.map >= 0.322
    assert figures.ndcg10 >= 0.405
    assert figures.mrr >= 0.56


@pytest.mark.full
@pytest.mark.timeout(1_200)
def test_an_index_process_killed_repeatedly_completes_the_index(some_pages: Path, index: ClusterIndex) -> None:
    again = command("index", "--store", some_pages, "--index-url", index.url)
    for seconds in (2.0, 2.5, 3.0, 3.5, 4.0, 5.0):
        with subprocess.Popen(again, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()) as process:
            time.sleep(seconds)
            process.kill()
    assert gossamer(*again[3:]).returncode == 0
    check_holds_all_of(some_pages, index)


# -- killed nodes ------------------------------------------------------------------------------------------------------


@pytest.fixture
def repaired_cluster(three_nodes: OpenSearchNodes) -> OpenSearchNodes:
    """Return the three nodes, all at work again after a test that killed one."""
    three_nodes.revive()
    return three_nodes


@pytest.fixture
def replicated_index(repaired_cluster: OpenSearchNodes) -> Iterator[ClusterIndex]:
    """An empty index with a copy of each part on another node."""
    with ExitStack() as stack:
        index = ClusterIndex(repaired_cluster.url(f"test-{next(NUMBERS)}"), stack, replicas=1)
        yield index
    index.request("DELETE", "/NAME.*")


@pytest.mark.full
def test_a_node_killed_during_indexing_loses_no_page(
    repaired_cluster: OpenSearchNodes, replicated_index: ClusterIndex, some_pages: Path
) -> None:
    replicated_index.writer().close()
    repaired_cluster.wait_for(3, "green")
    killed: list[int] = []

    def kill(now: IndexProgress) -> None:
        if now.put >= 250 and not killed:
            killed.append(repaired_cluster.manager())
            repaired_cluster.kill(killed[0])

    update_from(some_pages, replicated_index, kill)
    assert killed
    check_holds_all_of(some_pages, replicated_index)


@pytest.mark.full
def test_searches_return_all_hits_or_a_sentence_while_a_node_is_killed(
    repaired_cluster: OpenSearchNodes, replicated_index: ClusterIndex
) -> None:
    with closing(replicated_index.writer()) as writer:
        fill(writer, *(indexable(number, page("Egg", f"ham {number}")) for number in range(1, 200)))
    repaired_cluster.wait_for(3, "green")
    readers = [replicated_index.reader() for _ in range(4)]
    results: list[int | str] = []
    repaired_cluster.kill(repaired_cluster.manager())
    killed = time.monotonic()

    def has_recovered() -> bool:
        for reader in readers:
            try:
                results.append(reader.match(words("egg"), WEIGHTS, limit=9).total)
            except IndexFault as fault:
                results.append(str(fault))
        return results[-4:] == [199] * 4 and time.monotonic() > killed + 4

    until(has_recovered, "all hits for all readers", pause=0.0)
    assert {one for one in results if isinstance(one, int)} == {199}, "a search returns all hits or a sentence"
    assert all(one.startswith("The index at ") for one in results if isinstance(one, str))
