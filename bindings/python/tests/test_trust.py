"""Trust, client certificates, proxies and name servers, with a real TLS server."""

from __future__ import annotations

import base64
import hashlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import seconder
from conftest import listening, open_with

REPLY = b'{"app": {"name": "Example"}, "success": true}'


def openssl(*arguments: str, given: bytes = b"") -> bytes:
    run = subprocess.run(["openssl", *arguments], input=given, capture_output=True, timeout=60)
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Creates a self-signed certificate and its key."""
    own, key = folder / f"{name}.pem", folder / f"{name}.key"
    openssl(
        *["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"],
        *["-subj", f"/CN={name}", "-days", "2", "-out", str(own), "-keyout", str(key)],
        *["-addext", "basicConstraints=critical,CA:FALSE"],
        *["-addext", f"subjectAltName=IP:127.0.0.1,DNS:{name}.example"],
    )
    return own, key


def pin(own: Path) -> str:
    pem = openssl("x509", "-in", str(own), "-noout", "-pubkey")
    key = openssl("pkey", "-pubin", "-outform", "der", given=pem)
    return "sha256/" + base64.b64encode(hashlib.sha256(key).digest()).decode()


@dataclass
class Secure:
    """A service behind TLS, and the certificates that its clients presented."""

    port: int
    own: tuple[Path, Path]
    client: tuple[Path, Path]
    presented: list[Any] = field(default_factory=list)

    def url(self, host: str = "127.0.0.1") -> str:
        return f"https://{host}:{self.port}"


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[Secure]:
    own, client = certificate(tmp_path, "service"), certificate(tmp_path, "client")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=client[0])
    context.load_cert_chain(*own)
    context.verify_mode = ssl.CERT_OPTIONAL

    def talk(peer: socket.socket) -> None:
        try:
            with context.wrap_socket(peer, server_side=True) as talking:
                talking.settimeout(10)
                if talking.recv(65536):
                    service.presented.append(talking.getpeercert())
                    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                    talking.sendall(head % len(REPLY) + REPLY)
        except OSError:
            peer.close()

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(peer,), daemon=True).start()

    with listening(socket.create_server(("127.0.0.1", 0))) as listener:
        service = Secure(listener.getsockname()[1], own, client)
        threading.Thread(target=serve, daemon=True).start()
        yield service


def app_name(url: str, **settings: Any) -> str:
    with open_with(url, api_key="key", timeout=60, **settings) as service:
        return service.app_details().name


def test_only_a_ca_file_or_a_pin_is_trusted(secure: Secure) -> None:
    assert app_name(secure.url(), ca_file=secure.own[0]) == "Example"
    assert app_name(secure.url(), pins=[pin(secure.client[0]), pin(secure.own[0])]) == "Example"
    for settings in ({}, {"pins": (pin(secure.client[0]),)}, {"ca_file": secure.client[0]}):
        with pytest.raises(seconder.Unavailable) as caught:
            app_name(secure.url(), **settings)
        assert caught.value.stage is seconder.enums.Stage.TLS and caught.value.retry_safe
    assert len(secure.presented) == 2


def test_the_client_certificate_is_presented(secure: Secure) -> None:
    certificate, key = secure.client
    app_name(secure.url(), ca_file=secure.own[0], client_certificate=certificate, client_key=key)
    assert secure.presented[0]["subject"] == ((("commonName", "client"),),)


def test_a_proxy_forwards_encrypted_data(secure: Secure) -> None:
    heads: list[bytes] = []

    def pump(source: socket.socket, sink: socket.socket) -> None:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)

    def pass_on() -> None:
        peer, _ = listener.accept()
        heads.append(peer.recv(65536))
        with peer, socket.create_connection(("127.0.0.1", secure.port)) as service:
            peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=pump, args=(service, peer))
            back.start()
            pump(peer, service)
            back.join()

    with listening(socket.create_server(("127.0.0.1", 0))) as listener:
        proxying = threading.Thread(target=pass_on, daemon=True)
        proxying.start()
        proxy = f"http://ada:hush@127.0.0.1:{listener.getsockname()[1]}"
        assert app_name(secure.url(), ca_file=secure.own[0], proxy=proxy) == "Example"
        proxying.join(timeout=10)
    assert heads[0].startswith(f"CONNECT 127.0.0.1:{secure.port} ".encode())
    assert base64.b64encode(b"ada:hush") in heads[0]


def test_the_configured_name_servers_are_used(secure: Secure) -> None:
    def answer() -> None:
        """Resolves every name to this machine, and to no IPv6 address."""
        while True:
            try:
                question, peer = server.recvfrom(512)
            except OSError:
                return
            end = question.index(b"\0", 12) + 5
            wants_ipv4 = question[end - 4 : end - 2] == b"\0\1"
            record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1" if wants_ipv4 else b""
            count = b"\0\1" if wants_ipv4 else b"\0\0"
            head = question[:2] + b"\x81\x80\0\1" + count + b"\0\0\0\0"
            server.sendto(head + question[12:end] + record, peer)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        threading.Thread(target=answer, daemon=True).start()
        servers = [f"127.0.0.1:{server.getsockname()[1]}"]
        url = secure.url("service.example")
        assert app_name(url, ca_file=secure.own[0], name_servers=servers) == "Example"
