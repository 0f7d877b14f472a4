"""A service on this machine, by its Unix socket."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import seconder
from conftest import in_child, listening, named

REPLY = b'{"app": {"name": "Test"}, "message": "x", "success": true}'
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(REPLY) + REPLY


class Local:
    """A socket that responds to every request, and records the number of its connection."""

    def __init__(self, path: Path) -> None:
        self.url = f"unix:{path}"
        self.heads: list[bytes] = []
        self.requests: list[int] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        number = 0
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            number += 1
            threading.Thread(target=self.talk, args=(peer, number), daemon=True).start()

    def talk(self, peer: socket.socket, number: int) -> None:
        with peer:
            while head := peer.recv(65536):
                self.heads.append(head.lower())
                self.requests.append(number)
                peer.sendall(named(head, RESPONSE))


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Local]:
    local = Local(tmp_path / "seconder.sock")
    with listening(local.listener):
        yield local


def test_a_call_has_no_key(local: Local) -> None:
    with seconder.open(
        local.url, client=seconder.ClientOptions(service_uid=os.getuid() or None)
    ) as service:
        began = time.monotonic()
        assert service.app_details().name == "Test"
        assert service.app_details().name == "Test"
        was_idle = time.monotonic() - began >= 1
        assert repr(service) == "<seconder.Service on unix:>"
    # A connection that was idle for a second on a busy machine is not reused.
    assert local.requests == [1, 1] or (was_idle and local.requests == [1, 2])
    for head in local.heads:
        assert b"\r\nhost: localhost\r\n" in head and b"key" not in head


def test_a_forked_child_establishes_its_own_connection(local: Local) -> None:
    with seconder.open(local.url) as service:
        service.app_details()
        in_child(service.app_details)
    assert local.requests == [1, 2]


def test_asyncio(local: Local) -> None:
    async def name() -> str | None:
        async with seconder.open_async(
            local.url, client=seconder.ClientOptions(service_uid=os.getuid() or None)
        ) as service:
            return (await service.app_details()).name

    assert asyncio.run(name()) == "Test"


def test_a_missing_socket_is_unavailable(tmp_path: Path) -> None:
    with (
        seconder.open(f"unix:{tmp_path}/missing.sock") as service,
        pytest.raises(seconder.Unavailable, match="is seconder serve running") as caught,
    ):
        service.app_details()
    assert caught.value.stage == "connect" and caught.value.retry_safe


@pytest.mark.parametrize(
    "url",
    ["unix:", "unix:relative.sock", "unix://host/a.sock", "unix:@abstract", "unix:/a.sock?b=c"],
)
def test_other_urls_are_rejected(url: str) -> None:
    with pytest.raises(seconder.InvalidArgument) as caught:
        seconder.open(url)
    assert caught.value.parameter == "url"


@pytest.mark.parametrize("wrong", [-1, 2**32, "1000"])
def test_service_uid_is_the_number_of_a_user(local: Local, wrong: object) -> None:
    with pytest.raises(seconder.InvalidArgument) as caught:
        seconder.open(local.url, client=seconder.ClientOptions(service_uid=wrong))  # type: ignore[arg-type]
    assert caught.value.parameter == "service_uid"
