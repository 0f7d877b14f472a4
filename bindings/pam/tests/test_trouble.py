"""Failures of any kind: no user gets in, nothing hangs, and syslog names the cause."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from machine import PRIVATE, Machine
from service import Service, User
from terminal import Terminal
from test_codes import CODE, pamtester


@pytest.fixture
def own(machine: Machine, tmp_path: Path) -> Iterator[Service]:
    """A service that a test may stop."""
    tmp_path.chmod(0o755)
    service = Service(tmp_path)
    machine.configure(**service.keys, method="code")
    machine.only_the_module("code")
    machine.logged()
    yield service
    service.stop()


@pytest.fixture
def ada(machine: Machine, own: Service) -> User:
    user = own.add_user()
    machine.map_users({"ada": user.number})
    return user


def fails(machine: Machine, login: Terminal, code: str) -> None:
    """The login ends with this code of PAM, soon, and with a line for the operator."""
    began = time.monotonic()
    assert login.wait() == 1, login.shown
    assert time.monotonic() - began < 10
    assert MESSAGES[code] in login.shown
    if PRIVATE:
        lines = machine.logged()
        assert any("<83>" in line for line in lines), lines  # LOG_AUTHPRIV | LOG_ERR
        assert any("login of ada by code: " in line for line in lines), lines
        assert not any(": accepted" in line for line in lines)


MESSAGES = {
    "PAM_AUTHINFO_UNAVAIL": "Authentication service cannot retrieve authentication info",
    "PAM_SERVICE_ERR": "Error in service module",
}


def test_the_service_is_stopped(machine: Machine, own: Service, ada: User) -> None:
    own.stop()
    with pamtester(machine) as login:
        login.expect(CODE)
        login.type(ada.code())
        fails(machine, login, "PAM_AUTHINFO_UNAVAIL")


def test_the_service_hangs(machine: Machine, own: Service, ada: User) -> None:
    machine.configure(**own.keys, method="code", timeout=2)
    own.suspend()
    with pamtester(machine) as login:
        login.expect(CODE)
        login.type(ada.code())
        fails(machine, login, "PAM_AUTHINFO_UNAVAIL")
    own.resume()


def test_the_service_is_restarted_in_the_middle(
    machine: Machine, own: Service, ada: User
) -> None:
    with pamtester(machine) as login:
        login.expect(CODE)
        login.type(ada.wrong())
        login.expect("wrong")
        own.stop()
        own.start()
        login.expect(CODE)
        login.type(ada.code())
        assert login.wait() == 0, login.shown


def test_trouble_may_be_ignored_but_lets_nobody_in_alone(
    machine: Machine, own: Service, ada: User
) -> None:
    own.stop()
    machine.configure(**own.keys, method="code", on_trouble="ignore")
    with pamtester(machine) as login:
        login.expect(CODE)
        login.type(ada.code())
        assert login.wait() == 1
    if PRIVATE:
        assert any("NOT asked" in line for line in machine.logged())
    machine.stack("code", "auth required pam_seconder.so", "auth required pam_permit.so")
    with pamtester(machine) as login:
        login.expect(CODE)
        login.type(ada.code())
        assert login.wait() == 0


def test_a_wrong_key(machine: Machine, own: Service, ada: User) -> None:
    machine.configure(**own.network_keys, method="code")
    (own.folder / "key").write_text("another-key-of-the-tests")
    with pamtester(machine) as login:
        login.expect(CODE)
        login.type(ada.code())
        fails(machine, login, "PAM_SERVICE_ERR")


def test_a_socket_that_is_missing(machine: Machine, own: Service, ada: User, tmp_path: Path) -> None:
    machine.configure(url=f"unix:{tmp_path}/missing.sock", method="code")
    with pamtester(machine) as login:
        login.expect(CODE)
        login.type(ada.code())
        fails(machine, login, "PAM_AUTHINFO_UNAVAIL")


LISTEN = """
import os, socket, sys
os.setuid(int(sys.argv[2]))
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(sys.argv[1])
    listener.listen()
    print("ready", flush=True)
    while True:
        peer, _ = listener.accept()
        peer.recv(65536)
        peer.sendall(bytes.fromhex(sys.argv[3]))
        peer.close()
"""


@contextmanager
def responding(path: Path, reply: bytes, user: int) -> Iterator[None]:
    """Another program listens at a socket, and responds with this to everything."""
    command = [sys.executable, "-c", LISTEN, str(path), str(user), reply.hex()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None and program.stdout.readline() == "ready\n"
            yield
        finally:
            program.kill()


@pytest.mark.private
def test_a_socket_of_somebody_else(machine: Machine, own: Service, ada: User) -> None:
    """A foreign program that listens there could accept every code."""
    body = b'{"token":"is valid","success":"true","message":"Token is valid."}'
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: "
    folder = Path("/run/theirs")
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    path = folder / "theirs.sock"
    path.unlink(missing_ok=True)
    with responding(path, head + str(len(body)).encode() + b"\r\n\r\n" + body, 4711):
        machine.configure(url=f"unix:{path}", method="code")
        with pamtester(machine) as login:
            login.expect(CODE)
            login.type("1234567")
            assert login.wait() == 1, login.shown


REPLIES = {
    "nothing": b"",
    "no HTTP": b"220 mail.example.com ESMTP\r\n",
    "another success": b'HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n{"success":true}',
    "HTML": b"HTTP/1.1 200 OK\r\ncontent-length: 22\r\n\r\n<html>is valid</html>\n\n",
    "a redirect": b"HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n",
    "half a body": b'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"token":"is valid"',
}


@pytest.mark.parametrize("reply", REPLIES)
def test_a_broken_response(
    machine: Machine, own: Service, ada: User, tmp_path: Path, reply: str
) -> None:
    path = tmp_path / "broken.sock"
    with responding(path, REPLIES[reply], os.getuid()):
        machine.configure(url=f"unix:{path}", method="code")
        with pamtester(machine) as login:
            login.expect(CODE)
            login.type("1234567")
            assert login.wait() == 1, login.shown


@pytest.mark.parametrize("on_trouble", ["deny", "ignore"])
def test_a_service_in_maintenance_locks_nobody(
    machine: Machine, own: Service, ada: User, tmp_path: Path, on_trouble: str
) -> None:
    path = tmp_path / "busy.sock"
    machine.stack("code", "auth required pam_seconder.so", "auth required pam_permit.so")
    reply = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nretry-after: 120\r\n"
    with responding(path, reply + b"content-length: 6\r\n\r\nLater.", os.getuid()):
        machine.configure(url=f"unix:{path}", method="code", on_trouble=on_trouble)
        machine.logged()
        with pamtester(machine) as login:
            login.expect(CODE)
            login.type("1234567")
            login.expect("the service is busy. Try again in 120 s.")
            assert login.wait() == (on_trouble == "deny"), login.shown
    if PRIVATE:
        outcome = "service unavailable" if on_trouble == "deny" else "ignored"
        lines = machine.logged()
        assert any(f"login of ada by code: {outcome} (" in line for line in lines), lines


ERRORS = {
    "a misspelt key": ("tris = 2", "tries"),
    "a repeated key": ("tries = 2\ntries = 3", "given already"),
    "no such key": ("allow_everybody = yes", "there is no key"),
    "no assignment": ("on_trouble", "key = value"),
    "on_trouble=allow": ("on_trouble = allow", "deny or ignore"),
    "unenrolled=allow": ("unenrolled = allow", "deny or ignore"),
    "no number": ("tries = many", "a number, 1 to 10"),
    "too many": ("tries = 11", "a number, 1 to 10"),
    "another URL": ("url = http://example.com", "https"),
    "the engine": ("url = sqlite:/tmp/x.db", "https"),
    "no file": ("users = file:/nonexistent/users", "/nonexistent"),
    "a relative file": ("users = file:users", "file:/path"),
    "another method": ("method = telepathy", "push"),
    "no network": ("trusted_networks = everywhere", "192.0.2.0/24"),
    "a control character": ("method = \x1bcode", "control character"),
    "not text": ("method = \udcff", "UTF-8"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_the_configuration(machine: Machine, own: Service, ada: User, name: str) -> None:
    text, accepted = ERRORS[name]
    keys = dict(own.keys)
    path = machine.etc / "pam.conf"
    first = text.partition(" =")[0]
    lines = [f"{key} = {value}\n" for key, value in keys.items() if key != first]
    lines += [] if first == "users" else [f"users = file:{machine.etc}/users\n"]
    path.write_bytes(("".join(lines) + text + "\n").encode("utf-8", "surrogateescape"))
    with pamtester(machine) as login:
        if name == "no file":
            login.expect("Error in service module")
        assert login.wait() == 1, login.shown
        assert MESSAGES["PAM_SERVICE_ERR"] in login.shown
    if PRIVATE:
        errors = [line for line in machine.logged() if "<83>" in line]
        assert errors and any(accepted in line for line in errors), errors
        if name not in ("no file", "not text"):
            assert f"{path}:" in errors[0]


@pytest.mark.parametrize("argument", ["tris=2", "debug", "tries=0", "conf=/nonexistent"])
def test_an_error_of_the_arguments(
    machine: Machine, own: Service, ada: User, argument: str
) -> None:
    machine.stack("code", f"auth required pam_seconder.so {argument}")
    with pamtester(machine) as login:
        assert login.wait() == 1
        assert MESSAGES["PAM_SERVICE_ERR"] in login.shown


@pytest.mark.private
@pytest.mark.parametrize("what", ["pam.conf", "users"])
@pytest.mark.parametrize("how", ["missing", "writable", "theirs", "link", "folder", "fifo", "above"])
def test_a_file_that_others_could_have_written(
    machine: Machine, own: Service, ada: User, what: str, how: str
) -> None:
    path = machine.etc / what
    text = path.read_text()
    try:
        if how == "writable":
            path.chmod(0o666)
        elif how == "theirs":
            os.chown(path, 4711, 4711)
        elif how == "above":
            machine.etc.chmod(0o777)
        else:
            path.unlink()
        if how == "link":
            other = machine.etc / "other"
            other.write_text(text)
            path.symlink_to(other)
        elif how == "folder":
            path.mkdir()
        elif how == "fifo":
            os.mkfifo(path, 0o644)
        with pamtester(machine) as login:
            fails(machine, login, "PAM_SERVICE_ERR")
    finally:
        machine.etc.chmod(0o755)
        if path.is_dir():
            path.rmdir()
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o644)


@pytest.mark.private
def test_there_is_no_network(machine: Machine, own: Service, ada: User) -> None:
    """The socket alone suffices."""
    command = ["unshare", "--net", "pamtester", "code", "ada", "authenticate"]
    with Terminal(*command) as login:
        login.expect(CODE)
        login.type(ada.code())
        assert login.wait() == 0, login.shown


@pytest.mark.private
def test_programs_run_as_root_without_descriptors(
    machine: Machine, own: Service, ada: User, tmp_path: Path
) -> None:
    """The program that `users = command:` runs."""
    program = machine.write(
        "lookup", f"#!/bin/sh\nls /proc/self/fd >{tmp_path}/seen\nid -u >>{tmp_path}/seen\n"
        f"echo {ada.number}\n"
    )
    program.chmod(0o755)
    machine.configure(**own.keys, method="code", users=f"command:{program}")
    with open("/etc/hostname", "rb") as file:
        os.set_inheritable(file.fileno(), True)
        done = subprocess.Popen(
            ["pamtester", "code", "ada", "authenticate"],
            close_fds=False,
            stdin=subprocess.PIPE,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        done.communicate(b"123456\n", timeout=60)
    assert (tmp_path / "seen").read_text().split() == ["0", "1", "2", "3", "0"]
