"""Real programs, with the recipes of docs/pam.md: su, sudo, login."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import recipes
from machine import PASSWORD, Machine, append
from service import Service, User
from terminal import Terminal

pytestmark = pytest.mark.private

CODE = "Code[^\n]*: $"


@pytest.fixture(scope="module", autouse=True)
def users(machine: Machine) -> dict[str, int]:
    recipes.apply("/etc/pam.d/su, after: @include common-auth")
    recipes.apply("/etc/pam.d/sudo, after: @include common-auth")
    recipes.apply("/etc/pam.d/sudo-i, after: @include common-auth")
    recipes.apply("/etc/pam.d/login, after: @include common-auth")
    append("/etc/sudoers", "grace ALL=(ALL) ALL\nDefaults:grace timestamp_timeout=0\n")
    return {name: machine.add_user(name) for name in ("grace", "edsger")}


@pytest.fixture
def ada(machine: Machine, service: Service) -> User:
    user = service.add_user()
    machine.map_users({"edsger": user.number, "grace": user.number})
    return user


def su(users: dict[str, int], *arguments: str, **environment: str) -> Terminal:
    """grace becomes edsger."""
    command = ("su", "edsger", "-c", "echo inside as $(id -un)", *arguments)
    return Terminal(*command, user=users["grace"], env=environment)


def test_su(machine: Machine, service: Service, users: dict[str, int], ada: User) -> None:
    with su(users) as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        login.expect(CODE)
        login.type(ada.wrong())
        login.expect("The code is wrong")
        login.expect(CODE)
        login.type(ada.code())
        login.expect("inside as edsger")
        assert login.wait() == 0
    assert any("login of edsger by su: accepted" in line for line in machine.logged())


def test_su_with_a_wrong_password(
    machine: Machine, service: Service, users: dict[str, int], ada: User
) -> None:
    """Without the password, it is impossible to send something to a phone or to lock a user."""
    service.add_device(ada.number)
    machine.configure(**service.keys, method="push", approval_timeout=5)
    machine.logged()
    with su(users) as login:
        login.expect("Password: ")
        login.type("guess")
        login.expect("Authentication failure")
        assert login.wait() == 1
        assert "approve" not in login.shown
    assert not any("pam_seconder" in line for line in machine.logged())


def test_an_excepted_user_needs_the_password(
    machine: Machine, service: Service, users: dict[str, int], ada: User
) -> None:
    machine.configure(**service.keys, **{"except": "edsger"})
    with su(users) as login:
        login.expect("Password: ")
        login.type("guess")
        login.expect("Authentication failure")
        assert login.wait() == 1
    with su(users) as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        login.expect("inside as edsger")
        assert login.wait() == 0


def test_ctrl_c_ends_the_question(
    machine: Machine, service: Service, users: dict[str, int], ada: User
) -> None:
    with su(users) as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        login.expect(CODE)
        login.press("^C")
        assert login.wait() != 0
        assert "inside" not in login.shown


def test_a_hostile_environment(
    machine: Machine, service: Service, users: dict[str, int], ada: User, tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    library = tmp_path / "evil.so"
    library.write_bytes(b"not a library")
    evil = {
        "LD_PRELOAD": str(library),
        "LD_LIBRARY_PATH": str(tmp_path),
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
        "SSL_CERT_FILE": str(library),
        "SSL_CERT_DIR": str(tmp_path),
        "RUST_BACKTRACE": "full",
        "RUST_LOG": "trace",
        "SECONDER_URL": "sandbox:",
        "SECONDER_PAM_CONF": str(library),
        "HOSTALIASES": str(library),
        "TMPDIR": str(tmp_path),
    }
    with su(users, **evil) as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        login.expect(CODE)
        login.type(ada.wrong())
        login.expect(CODE)
        login.type(ada.code())
        login.expect("inside as edsger")
        assert login.wait() == 0


def sudo(users: dict[str, int], *arguments: str) -> Terminal:
    return Terminal("sudo", *arguments, "id", "-un", user=users["grace"])


def test_sudo(machine: Machine, service: Service, users: dict[str, int], ada: User) -> None:
    with sudo(users) as login:
        login.expect("(?i)password[^\n]*: ")
        login.type(PASSWORD)
        login.expect(CODE)
        login.type(ada.code())
        login.expect("root")
        assert login.wait() == 0
    machine.logged()
    with sudo(users, "-n") as login:
        assert login.wait() == 1
    with sudo(users) as login:
        login.expect("(?i)password[^\n]*: ")
        login.type(PASSWORD)
        login.expect(CODE)
        # Between its question and its read, sudo takes note of Ctrl-C, and waits for a key.
        assert login.silent_for(0.5)
        login.press("^C")
        assert login.wait() == 1


def test_sudo_with_a_login_shell(
    machine: Machine, service: Service, users: dict[str, int], ada: User
) -> None:
    """Debian's sudo -i has a file of its own in /etc/pam.d."""
    with sudo(users, "-i") as login:
        login.expect("(?i)password[^\n]*: ")
        login.type(PASSWORD)
        login.expect(CODE)
        login.type(ada.code())
        login.expect("root")
        assert login.wait() == 0


def test_login(machine: Machine, service: Service, users: dict[str, int], ada: User) -> None:
    with Terminal("login", "edsger") as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        login.expect(CODE)
        login.type(ada.code())
        login.expect(r"\$ ")
        login.type("id -un; exit")
        login.expect("edsger")
        login.wait()
    assert any("login of edsger by login: accepted" in line for line in machine.logged())


class TestPush:
    """Approval on a phone, which su and sudo wait for."""

    @pytest.fixture(autouse=True)
    def push(self, machine: Machine, service: Service, ada: User) -> None:
        keys = {**service.keys, "method": "push", "tries": 1, "approval_timeout": 60}
        machine.configure(**keys)
        self.device = service.add_device(ada.number)

    def begin(self, users: dict[str, int]) -> Terminal:
        login = su(users)
        login.expect("Password: ")
        login.type(PASSWORD)
        login.expect("To approve[^\n]*\n")
        return login

    def test_approved(self, users: dict[str, int]) -> None:
        with self.begin(users) as login:
            self.device.respond("approve", login.shown)
            login.expect("inside as edsger")
            assert login.wait() == 0

    def test_denied(self, users: dict[str, int]) -> None:
        with self.begin(users) as login:
            self.device.respond("deny")
            login.expect("Authentication failure")
            assert login.wait() == 1

    def test_expired(self, machine: Machine, service: Service, users: dict[str, int]) -> None:
        machine.configure(**service.keys, method="push", tries=1, approval_timeout=2)
        with self.begin(users) as login:
            login.expect("not approved in time")
            assert login.wait() == 1

    def test_given_up_by_enter(self, users: dict[str, int]) -> None:
        with self.begin(users) as login:
            assert login.silent_for(0.5)
            began = time.monotonic()
            login.type("")
            login.expect("given up")
            assert login.wait() == 1
            assert time.monotonic() - began < 20

    def test_given_up_by_ctrl_c(self, users: dict[str, int]) -> None:
        with self.begin(users) as login:
            assert login.silent_for(0.5)
            began = time.monotonic()
            login.press("^C")
            assert login.wait() != 0
            assert time.monotonic() - began < 20

    def test_in_sudo(self, users: dict[str, int]) -> None:
        """sudo sets PAM_SILENT, so the text is a part of the question."""
        with sudo(users) as login:
            login.expect("(?i)password[^\n]*: ")
            login.type(PASSWORD)
            login.expect("To approve[^\n]*press Enter[^\n]*: ")
            self.device.respond("approve", login.shown)
            login.type("")
            login.expect("root")
            assert login.wait() == 0

    @pytest.mark.parametrize("key", ["^M", "^C"])
    def test_given_up_in_sudo(self, users: dict[str, int], key: str) -> None:
        """The wait that follows the question can be ended too."""
        with sudo(users) as login:
            login.expect("(?i)password[^\n]*: ")
            login.type(PASSWORD)
            login.expect("To approve[^\n]*press Enter[^\n]*: ")
            login.type("")
            # sudo discards what was typed before it went on.
            time.sleep(1)
            began = time.monotonic()
            if key == "^M":
                # sudo asks from the beginning.
                login.press_until(key, "(?i)password[^\n]*: ")
            else:
                assert login.interrupt() != 0
            assert time.monotonic() - began < 20
            assert login.interrupt() != 0
