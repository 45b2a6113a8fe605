"""Certificates for servers on loopback, made with openssl: a valid one, and each kind of invalid one."""

from __future__ import annotations

import ssl
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

NAME = "IP:127.0.0.1"


class Certificates:
    """A certificate authority in a directory, and the certificates it signed."""

    def __init__(self, home: Path) -> None:
        self._home = home
        home.mkdir(parents=True, exist_ok=True)
        (home / "index.txt").write_text("")
        (home / "ca.cnf").write_text(
            f"[ca]\ndefault_ca=here\n[here]\ndatabase={home}/index.txt\nnew_certs_dir={home}\nrand_serial=yes\n"
            "default_md=sha256\npolicy=any\ncopy_extensions=copy\nunique_subject=no\n[any]\ncommonName=supplied\n"
        )
        self._openssl("req", "-x509", "-days", "2", *self._key("authority"), "-out", home / "authority.pem")
        self.authority = home / "authority.pem"

    def signed_context(
        self, name: str, *, alternative: str = NAME, dates: tuple[str, str] | None = None
    ) -> ssl.SSLContext:
        """Return a server context with a signed certificate, valid between the dates (YYYYMMDDHHMMSSZ)."""
        home = self._home
        self._openssl(
            "req", "-new", *self._key(name), "-addext", f"subjectAltName={alternative}", "-out", home / f"{name}.csr"
        )  # fmt: skip
        lifetime = ("-days", "2") if dates is None else ("-startdate", dates[0], "-enddate", dates[1])
        self._openssl(
            "ca", "-batch", "-notext", "-config", home / "ca.cnf", "-cert", self.authority, "-keyfile",
            home / "authority.key", *lifetime, "-in", home / f"{name}.csr", "-out", home / f"{name}.pem",
        )  # fmt: skip
        return self._context(name)

    def self_signed_context(self, name: str) -> ssl.SSLContext:
        """Return a server context with a self-signed certificate."""
        self._openssl(
            "req", "-x509", "-days", "2", *self._key(name), "-addext", f"subjectAltName={NAME}",
            "-out", self._home / f"{name}.pem",
        )  # fmt: skip
        return self._context(name)

    def _key(self, name: str) -> tuple[str | Path, ...]:
        """Return options for a new elliptic-curve key, which is quick to make."""
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        return (*curve, "-keyout", self._home / f"{name}.key", "-subj", f"/CN={name}")

    def _context(self, name: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._home / f"{name}.pem", self._home / f"{name}.key")
        return context

    def _openssl(self, *arguments: object) -> None:
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
