"""A real sshd on a loopback port, and OpenSSH's client on a terminal."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import recipes
from machine import PASSWORD, Machine
from service import Service, User
from terminal import PATIENCE, Terminal

pytestmark = pytest.mark.private

CODE = r"Code[^\n]*: $"


class Server:
    """sshd with the settings of a recipe."""

    def __init__(self, folder: Path, settings: str) -> None:
        self.folder = folder
        # While this has the port, the system gives it to nobody else, and sshd can use it.
        self._reserved = socket.socket()
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._reserved.bind(("127.0.0.1", 0))
        self.port = self._reserved.getsockname()[1]
        config = folder / "sshd_config"
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\n"
            f"Subsystem sftp internal-sftp\nLoginGraceTime 120\n{settings}"
        )
        if not (folder / "host").exists():
            keygen(folder / "host")
        self._process = subprocess.Popen(
            ["/usr/sbin/sshd", "-D", "-e", "-f", config], stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("sshd did not start")

    def options(self, *more: str) -> list[str]:
        fixed = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"]
        fixed += ["IdentitiesOnly=yes", "IdentityAgent=none", f"Port={self.port}", *more]
        return ["-F", "none", *(word for option in fixed for word in ("-o", option))]

    def ssh(self, *command: str, options: tuple[str, ...] = ()) -> Terminal:
        words = ["ssh", *self.options(*options), "barbara@127.0.0.1", *command]
        return Terminal(*words, env={"HOME": str(self.folder)})

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._reserved.close()


def keygen(file: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file], check=True)


@pytest.fixture(scope="module")
def number(machine: Machine) -> int:
    return machine.add_user("barbara")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    recipes.apply("/etc/pam.d/sshd, after: @include common-auth")
    settings = recipes.recipes()["/etc/ssh/sshd_config.d/seconder.conf"]
    server = Server(tmp_path_factory.mktemp("sshd"), settings)
    yield server
    server.stop()


@pytest.fixture
def barbara(machine: Machine, service: Service, number: int) -> User:
    user = service.add_user()
    machine.map_users({"barbara": user.number})
    return user


def test_password_and_code(machine: Machine, service: Service, server: Server, barbara: User) -> None:
    with server.ssh("echo inside as $(id -un)") as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        login.expect(CODE)
        login.type(barbara.wrong())
        login.expect("The code is wrong")
        login.expect(CODE)
        login.type(barbara.code())
        login.expect("inside as barbara")
        assert login.wait() == 0
    lines = [line for line in machine.logged() if "pam_seconder" in line]
    assert len(lines) == 1
    assert "login of barbara by sshd from 127.0.0.1: accepted" in lines[0]


def test_with_a_terminal(service: Service, server: Server, barbara: User) -> None:
    with server.ssh() as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        login.expect(CODE)
        login.type(barbara.code())
        login.expect(r"\$ ")
        login.type("id -un; exit")
        login.expect("barbara")
        assert login.wait() == 0


def test_a_wrong_password_ends_the_login_before_the_code(
    machine: Machine, service: Service, server: Server, barbara: User
) -> None:
    machine.logged()
    with server.ssh("true", options=("NumberOfPasswordPrompts=1",)) as login:
        login.expect("Password: ")
        login.type("guess")
        login.expect("Permission denied")
        assert login.wait() == 255
        assert "Code" not in login.shown
    assert not any("pam_seconder" in line for line in machine.logged())


def test_a_chosen_sms(service: Service, server: Server, barbara: User) -> None:
    with server.ssh("echo inside") as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        login.expect(r"(\d) for an SMS[^\n]*: $")
        before = time.time()
        login.type(login.shown[login.shown.index(" for an SMS") - 1])
        login.expect("goes by SMS")
        login.expect(CODE)
        login.type(service.sent_code(before - 1))
        login.expect("inside")
        assert login.wait() == 0


def test_push(machine: Machine, service: Service, server: Server, barbara: User) -> None:
    machine.configure(**service.keys, method="push", tries=1, approval_timeout=60)
    device = service.add_device(barbara.number)
    with server.ssh("echo inside") as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        login.expect("To approve[^\n]*press Enter[^\n]*: $")
        device.respond("approve", login.shown)
        login.type("")
        login.expect("inside")
        assert login.wait() == 0
    with server.ssh("true", options=("NumberOfPasswordPrompts=1",)) as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        login.expect("To approve[^\n]*press Enter[^\n]*: $")
        device.respond("deny")
        login.type("")
        assert login.wait() == 255


@pytest.mark.parametrize(
    "command",
    [
        ["ssh", "-T", "barbara@127.0.0.1", "true"],
        ["scp", "/etc/hostname", "barbara@127.0.0.1:"],
        ["sftp", "barbara@127.0.0.1"],
    ],
    ids=lambda command: command[0],
)
def test_a_client_that_asks_nothing(
    machine: Machine, service: Service, server: Server, barbara: User, command: list[str]
) -> None:
    machine.logged()
    began = time.monotonic()
    done = subprocess.run(
        [command[0], *server.options("BatchMode=yes"), *command[1:]],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert time.monotonic() - began < 30
    assert not any("pam_" in line for line in machine.logged())


def test_a_client_without_a_terminal(
    machine: Machine, service: Service, server: Server, barbara: User
) -> None:
    """It cannot ask, and responds with nothing, which is a wrong password."""
    machine.logged()
    done = subprocess.run(
        ["ssh", "-T", *server.options(), "barbara@127.0.0.1", "true"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        timeout=60,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.returncode == 255
    lines = machine.logged()
    assert any("pam_unix(sshd:auth): authentication failure" in line for line in lines), lines
    assert not any("pam_seconder" in line for line in lines)


def test_a_client_with_the_method_password(
    machine: Machine, service: Service, server: Server, barbara: User, tmp_path: Path
) -> None:
    """sshd responds to every question with the password, which must not count as a wrong code."""
    settings = "UsePAM yes\nKbdInteractiveAuthentication no\nPasswordAuthentication yes\n"
    other = Server(tmp_path, settings)
    ask = tmp_path / "ask"
    ask.write_text(f"#!/bin/sh\necho '{PASSWORD}'\n")
    ask.chmod(0o755)
    machine.logged()
    try:
        for words in (
            ["scp", *other.options(), "/etc/hostname", "barbara@127.0.0.1:"],
            ["sftp", *other.options(), "barbara@127.0.0.1"],
            ["ssh", "-T", *other.options(), "barbara@127.0.0.1", "true"],
        ):
            began = time.monotonic()
            done = subprocess.run(
                [*words[:1], "-o", "NumberOfPasswordPrompts=1", *words[1:]],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                start_new_session=True,
                timeout=60,
                env={**os.environ, "SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force"},
            )
            assert done.returncode != 0
            assert time.monotonic() - began < 30
            lines = [line for line in machine.logged() if "pam_seconder" in line]
            assert len(lines) == 1, lines
            assert "login of barbara by sshd from 127.0.0.1: denied" in lines[0]
            assert "keyboard-interactive" in lines[0]
    finally:
        other.stop()
    # Nothing was counted against the user.
    with server.ssh("echo inside") as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        login.expect(CODE)
        login.type(barbara.code())
        login.expect("inside")
        assert login.wait() == 0


def test_a_client_that_hangs_up(
    machine: Machine, service: Service, server: Server, barbara: User
) -> None:
    machine.logged()
    with server.ssh("true") as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        login.expect(CODE)
        login.press("^C")
        assert login.wait() != 0
    end = time.monotonic() + PATIENCE
    while sshds() > 1 and time.monotonic() < end:
        time.sleep(0.1)
    assert sshds() == 1


def sshds() -> int:
    """Returns the number of processes of sshd: the tests' own, in no other namespace. From OpenSSH
    9.8 on, each connection has one of a program of its own, and from 10.0 on another one until it
    is logged in.
    """
    names = ("sshd", "sshd-session", "sshd-auth")
    own = os.readlink("/proc/self/ns/mnt")
    count = 0
    for entry in Path("/proc").iterdir():
        try:
            comm = (entry / "comm").read_text().strip()
            count += comm in names and os.readlink(entry / "ns/mnt") == own
        except OSError:
            pass
    return count


def test_two_logins_at_once_with_one_code(service: Service, server: Server, barbara: User) -> None:
    options = ("NumberOfPasswordPrompts=1",)
    with server.ssh("true", options=options) as one, server.ssh("true", options=options) as other:
        for login in (one, other):
            login.expect("Password: ")
            login.type(PASSWORD)
            login.expect(CODE)
        code = barbara.code()
        for login in (one, other):
            login.type(code)
        for login in (one, other):
            login.expect("used before|$", patience=1)
        first = {"one": one, "other": other}
        losers: list[Terminal] = []
        end = time.monotonic() + PATIENCE
        while not losers and time.monotonic() < end:
            for login in first.values():
                login.silent_for(0.2)
                if "used before" in login.shown:
                    losers.append(login)
        assert len(losers) == 1
        winner = other if losers[0] is one else one
        assert winner.wait() == 0
        losers[0].close()


def authorize(key: Path, name: str, number: int) -> None:
    folder = Path(f"/home/{name}/.ssh")
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "authorized_keys").write_text(key.read_text())
    for path in (folder, folder / "authorized_keys"):
        os.chown(path, number, number)


def test_a_job_with_a_key(machine: Machine, service: Service, barbara: User, tmp_path: Path) -> None:
    """The account that the page excepts, and another one."""
    settings = recipes.recipes()["/etc/ssh/sshd_config.d/seconder.conf"]
    settings += recipes.recipes()["/etc/ssh/sshd_config.d/seconder-jobs.conf"]
    backup = machine.add_user("backup-job")
    assert settings.count("Match User backup\n") == 1
    server = Server(tmp_path, settings.replace("User backup\n", "User backup-job\n"))
    keygen(tmp_path / "key")
    authorize(tmp_path / "key.pub", "backup-job", backup)
    authorize(tmp_path / "key.pub", "barbara", machine_number("barbara"))
    try:
        for name, status in (("backup-job", 0), ("barbara", 255)):
            options = server.options("BatchMode=yes", f"IdentityFile={tmp_path}/key")
            done = subprocess.run(
                ["ssh", "-T", *options, f"{name}@127.0.0.1", "true"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                start_new_session=True,
                timeout=60,
            )
            assert done.returncode == status, (name, done)
    finally:
        server.stop()


def machine_number(name: str) -> int:
    return pwd.getpwnam(name).pw_uid


def test_root_cannot_log_in_as_the_page_says(
    machine: Machine, service: Service, barbara: User, tmp_path: Path
) -> None:
    """sshd replaces what root types, unless PermitRootLogin says otherwise."""
    recipes.apply("/etc/pam.d/sshd, in place of: @include common-auth (with keys)")
    keygen(tmp_path / "key")
    keys = Path("/etc/ssh/keys-of-root")
    keys.write_text((tmp_path / "key.pub").read_text())
    machine.map_users({"root": barbara.number})
    settings = recipes.recipes()["/etc/ssh/sshd_config.d/seconder-keys.conf"]
    settings += f"AuthorizedKeysFile {keys}\n"
    try:
        for more, status in (("", 255), ("PermitRootLogin yes\n", 0)):
            server = Server(tmp_path, settings + more)
            options = server.options(f"IdentityFile={tmp_path}/key", "NumberOfPasswordPrompts=1")
            with Terminal("ssh", *options, "root@127.0.0.1", "true") as login:
                login.expect(CODE)
                login.type(barbara.code())
                if status:
                    login.expect(f"Permission denied|{CODE}")
                    login.close()
                else:
                    assert login.wait() == 0
            server.stop()
    finally:
        recipes.apply("/etc/pam.d/sshd, after: @include common-auth")


def test_a_key_and_a_code(
    machine: Machine, service: Service, barbara: User, number: int, tmp_path: Path
) -> None:
    recipes.apply("/etc/pam.d/sshd, in place of: @include common-auth (with keys)")
    settings = recipes.recipes()["/etc/ssh/sshd_config.d/seconder-keys.conf"]
    server = Server(tmp_path, settings)
    keygen(tmp_path / "key")
    authorize(tmp_path / "key.pub", "barbara", number)
    try:
        key = (f"IdentityFile={tmp_path}/key", "NumberOfPasswordPrompts=1")
        with server.ssh("echo inside", options=key) as login:
            login.expect(CODE)
            login.type(barbara.code())
            login.expect("inside")
            assert login.wait() == 0
        with server.ssh("echo inside", options=("NumberOfPasswordPrompts=1",)) as login:
            login.expect("Permission denied")
            assert login.wait() == 255
        # A user who is excepted gets in with the key alone.
        machine.configure(**service.keys, **{"except": "barbara"})
        with server.ssh("echo inside", options=key) as login:
            login.expect("inside")
            assert login.wait() == 0
    finally:
        server.stop()
        recipes.apply("/etc/pam.d/sshd, after: @include common-auth")
