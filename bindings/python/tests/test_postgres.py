"""A PostgreSQL database that processes share, from Python and behind ``seconder serve``."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import seconder
from conftest import in_child
from seconder import totp

ROOT = Path(__file__).parents[3]
PROGRAM = Path(os.environ.get("SECONDER_PROGRAM", ROOT / "target" / "debug" / "seconder"))
KEY = "the-key-of-the-tests"

SUPERVISOR = 'trap "" INT TERM; "$@" & read -r _; kill -INT $!; wait $!'
"""Ends the server when its standard input ends, as it does with the process that holds it."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A server of its own, on a private socket. This is the URL of its database."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    assert found, "PostgreSQL is missing: apt-get install postgresql"
    # The path of a socket is short. PostgreSQL does not run as root.
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    account: dict[str, Any] = {}
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        account = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    account |= {"cwd": folder, "env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}}
    initdb: list[str | Path] = [
        found[-1] / "initdb",
        "--no-sync",
        "--auth=trust",
        "--username=seconder",
    ]
    subprocess.run([*initdb, "-D", "data"], check=True, capture_output=True, **account)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command: list[str | Path] = [
        found[-1] / "postgres",
        "-D",
        "data",
        "-k",
        folder,
        "-p",
        str(port),
    ]
    command += ["-c", "listen_addresses="]
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen(
            ["sh", "-c", SUPERVISOR, "sh", *command],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            **account,
        )
    try:
        ready: list[str | Path] = [found[-1] / "pg_isready", "-q", "-h", folder, "-p", str(port)]
        end = time.monotonic() + 60
        while subprocess.run(ready, **account).returncode != 0:
            assert time.monotonic() < end, (folder / "log").read_text()
            time.sleep(0.05)
        yield f"postgres://seconder@{str(folder).replace('/', '%2F')}:{port}/postgres"
    finally:
        assert running.stdin is not None
        running.stdin.close()
        running.wait()
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def keyring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("keyring") / "seconder.keys"
    subprocess.run([PROGRAM, "keyring", "create", file], check=True, capture_output=True)
    return file


def test_two_services_share_a_database(server: str, keyring: Path) -> None:
    sent: list[seconder.Message] = []
    with (
        seconder.open(
            server, api_key=KEY, deliver=sent.append, engine=seconder.EngineOptions(keyring=keyring)
        ) as one,
        seconder.open(
            server, api_key=KEY, deliver=sent.append, engine=seconder.EngineOptions(keyring=keyring)
        ) as other,
    ):
        user = one.create_user("ada@example.com", "555-010-0123", 1).user_id
        one.request_sms(user)
        code = sent[-1].code
        other.verify(user, code)
        with pytest.raises(seconder.AlreadyUsed):
            one.verify(user, code)
        shown = totp.code(other.enrol_authenticator(user).uri)
        one.verify(user, shown)
        with pytest.raises(seconder.AlreadyUsed):
            other.verify(user, shown)


def sessions(server: str, application: str) -> set[str]:
    """The processes of the server that serve connections of this name."""
    ask = f"SELECT pid FROM pg_stat_activity WHERE application_name = '{application}'"
    psql = sorted(Path("/usr/lib/postgresql").glob("*/bin/psql"))[-1]
    command: list[str | Path] = [psql, "-X", "-A", "-t", "-c", ask, server]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_a_child_leaves_the_connections_of_its_parent_alone(server: str, keyring: Path) -> None:
    def url(name: str) -> str:
        return f"{server}?application_name={name}"

    with seconder.open(
        url("parent"), api_key=KEY, engine=seconder.EngineOptions(keyring=keyring)
    ) as service:
        user = service.create_user("fay@example.com", "555-010-0125", 1).user_id
        code = totp.code(service.enrol_authenticator(user).uri)
        service.admin.app_stats()
        before = sessions(server, "parent")
        assert before

        def in_another() -> None:
            for call in (lambda: service.verify(user, code), service.admin.app_stats):
                with pytest.raises(seconder.StorageError, match="after the fork"):
                    call()
            with seconder.open(
                url("child"), api_key=KEY, engine=seconder.EngineOptions(keyring=keyring)
            ) as own:
                own.verify(user, code)
                assert sessions(server, "child")
            # Closing what was inherited does not end the parent's sessions.
            service.close()

        in_child(in_another)
        # The same sessions answer the parent, and see what the child did.
        assert sessions(server, "parent") == before
        with pytest.raises(seconder.AlreadyUsed):
            service.verify(user, code)
        service.admin.app_stats()
        assert sessions(server, "parent") == before

        def in_place() -> None:
            service.reopen()
            with pytest.raises(seconder.AlreadyUsed):
                service.verify(user, code)
            # With sessions of its own.
            assert sessions(server, "parent") > before
            service.close()

        in_child(in_place)
        service.admin.app_stats()
        assert before <= sessions(server, "parent")


def test_a_server_needs_a_keyring(server: str) -> None:
    with pytest.raises(seconder.InvalidArgument) as caught:
        seconder.open(server, api_key=KEY)
    assert caught.value.parameter == "keyring"


def test_the_program_serves_a_shared_database(server: str, keyring: Path, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key", tmp_path / "certificate.pem"
    key.write_text(KEY)
    command: list[str | Path] = [PROGRAM, "serve", "--log-format=human", "--self-signed"]
    command.append("--listen=127.0.0.1:0")
    command += [f"--certificate-out={certificate}", f"--database={server}", f"--keyring={keyring}"]
    command.append(f"--api-key-file={key}")
    with seconder.open(
        server, api_key=KEY, engine=seconder.EngineOptions(keyring=keyring)
    ) as service:
        user = service.create_user("eve@example.com", "555-010-0124", 1).user_id
        uri = service.enrol_authenticator(user).uri
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stderr is not None
            lines = (line.rpartition("listening on ") for line in running.stderr)
            url = next(url.strip() for _, found, url in lines if found)
            request = Request(f"{url}/protected/json/verify/{totp.code(uri)}/{user}?force=true")
            request.add_header("X-Svc-API-Key", KEY)
            context = ssl.create_default_context(cafile=str(certificate))
            with urlopen(request, context=context, timeout=30) as reply:
                assert reply.status == 200 and b'"is valid"' in reply.read()
        finally:
            running.terminate()
