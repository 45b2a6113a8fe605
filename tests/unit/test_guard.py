"""The address guard: it allows public addresses only."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import SettingsError
from gossamer.fetch.guard import parse_networks, refusal


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "93.184.216.34", "172.15.255.255", "172.32.0.0", "100.128.0.0", "2606:4700::1111", "2a00:1450:4001::1"],
)
def test_public_addresses_are_allowed(address: str) -> None:
    assert refusal(address, ()) == ""


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("0.0.0.0", "an unspecified"),
        ("0.1.2.3", "an unspecified"),
        ("10.0.0.1", "a private"),
        ("100.64.0.1", "a carrier-grade NAT"),
        ("127.0.0.1", "a loopback"),
        ("127.255.255.254", "a loopback"),
        ("169.254.169.254", "a link-local"),
        ("172.16.0.1", "a private"),
        ("172.31.255.255", "a private"),
        ("192.0.0.8", "a protocol-assignment"),
        ("192.0.2.1", "a documentation"),
        ("192.168.1.1", "a private"),
        ("198.18.0.1", "a benchmarking"),
        ("203.0.113.9", "a documentation"),
        ("224.0.0.1", "a multicast"),
        ("239.255.255.250", "a multicast"),
        ("240.0.0.1", "a reserved"),
        ("255.255.255.255", "a reserved"),
        ("::", "an unspecified"),
        ("::1", "a loopback"),
        ("100::1", "a discard-only"),
        ("2001:db8::1", "a documentation"),
        ("fc00::1", "a private"),
        ("fd12:3456::1", "a private"),
        ("fe80::1", "a link-local"),
        ("fec0::1", "a site-local"),
        ("ff02::1", "a multicast"),
        ("ff0e::1", "a multicast"),
        ("4000::1", "a reserved"),
    ],
)
def test_special_addresses_are_refused_and_named(address: str, words: str) -> None:
    assert refusal(address, ()) == f"{address} is {words} address"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("::ffff:127.0.0.1", "a loopback"),  # IPv4-mapped
        ("::ffff:10.1.2.3", "a private"),
        ("::127.0.0.1", "an IPv4-compatible"),
        ("64:ff9b::7f00:1", "a loopback"),  # NAT64
        ("64:ff9b::a9fe:a9fe", "a link-local"),
        ("64:ff9b:1::7f00:1", "a local translation"),
        ("2002:7f00:1::", "a 6to4"),
        ("2001:0:4136:e378:8000:63bf:80ff:fffe", "a Teredo"),
    ],
)
def test_private_ipv4_addresses_embedded_in_ipv6_are_refused(address: str, words: str) -> None:
    assert refusal(address, ()) == f"{address} is {words} address"


@pytest.mark.parametrize("address", ["::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_public_ipv4_addresses_embedded_in_ipv6_are_allowed(address: str) -> None:
    assert refusal(address, ()) == ""


def test_a_scoped_address_is_refused() -> None:
    assert refusal("2606:4700::1%eth0", ()) == "2606:4700::1%eth0 is a scoped address"


@pytest.mark.parametrize("text", ["", "localhost", "2130706433", "0x7f.0.0.1", "127.1", "1.2.3.4.5"])
def test_an_invalid_address_is_refused(text: str) -> None:
    assert refusal(text, ()).endswith("is not an IP address")


def test_only_the_listed_private_ranges_are_allowed() -> None:
    allowed = parse_networks(["10.1.0.0/16", "fd00::/8", "127.0.0.1"])
    assert refusal("10.1.2.3", allowed) == ""
    assert refusal("::ffff:10.1.2.3", allowed) == ""
    assert refusal("fd00::1", allowed) == ""
    assert refusal("127.0.0.1", allowed) == ""
    assert refusal("10.2.0.1", allowed) == "10.2.0.1 is a private address"
    assert refusal("127.0.0.2", allowed) == "127.0.0.2 is a loopback address"


def test_a_range_may_have_host_bits() -> None:
    assert refusal("10.1.2.200", parse_networks(["10.1.2.3/24"])) == ""


def test_an_invalid_range_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match=r"'10\.0\.0\.0/99' is not an address range"):
        parse_networks(["10.0.0.0/99"])


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_no_address_that_python_calls_local_is_allowed(ip: IPv4Address | IPv6Address) -> None:
    if refusal(str(ip), ()) == "":
        inner = ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip
        if isinstance(inner, IPv6Address) and str(inner).startswith("64:ff9b::"):
            inner = ip_address(int(inner) & 0xFFFFFFFF)
        assert inner.is_global
        assert not inner.is_multicast
        assert not inner.is_reserved
