"""Users who start a program of root with limits, signals and names that are meant to spare them the
second factor. They know the password."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import recipes
from machine import PASSWORD, Machine, append
from service import Service, User
from terminal import PATIENCE, Terminal

pytestmark = pytest.mark.private

CODE = "Code[^\n]*: $"
HERE = Path(__file__).parent
MACHINE_ID = Path("/etc/machine-id")


@pytest.fixture(scope="module", autouse=True)
def users(machine: Machine) -> dict[str, int]:
    recipes.apply("/etc/pam.d/su, after: @include common-auth")
    recipes.apply("/etc/pam.d/sudo, after: @include common-auth")
    append("/etc/sudoers", "hank ALL=(ALL) ALL\nDefaults:hank timestamp_timeout=0\n")
    return {name: machine.add_user(name) for name in ("hank", "irene")}


@pytest.fixture
def own(machine: Machine, tmp_path: Path) -> Iterator[Service]:
    """A service that a test may stop."""
    tmp_path.chmod(0o755)
    service = Service(tmp_path)
    machine.configure(**service.keys, method="code")
    machine.logged()
    yield service
    service.stop()


@pytest.fixture
def irene(machine: Machine, own: Service) -> User:
    user = own.add_user()
    machine.map_users({"irene": user.number, "hank": user.number})
    return user


LIMITED = """
import os, resource as r, signal as s
{}
os.execvp("su", ["su", "irene", "-c", "echo inside"])
"""


def su(users: dict[str, int], first: str = "") -> Terminal:
    """hank becomes irene, after these statements of Python."""
    return Terminal("/usr/bin/python3", "-c", LIMITED.format(first), user=users["hank"])


HOSTILE = {
    "nothing": "pass",
    "no descriptors": "r.setrlimit(r.RLIMIT_NOFILE, (9, 9))",
    "SIGCHLD ignored": "s.signal(s.SIGCHLD, s.SIG_IGN)",
    "both": "s.signal(s.SIGCHLD, s.SIG_IGN); r.setrlimit(r.RLIMIT_NOFILE, (9, 9))",
    "no processes": "s.signal(s.SIGCHLD, s.SIG_IGN); r.setrlimit(r.RLIMIT_NPROC, (0, 0))",
    "little stack": "s.signal(s.SIGCHLD, s.SIG_IGN); r.setrlimit(r.RLIMIT_STACK, (200000, 200000))",
    "signals": "s.pthread_sigmask(s.SIG_BLOCK, [1, 10, 17]); s.signal(s.SIGPIPE, s.SIG_IGN)",
}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_limits_and_signals_do_not_make_a_user_unknown(
    machine: Machine, own: Service, users: dict[str, int], irene: User, hostile: str
) -> None:
    """The program of `users = command:` needs a pipe, so it needs descriptors and processes."""
    map_file = machine.write("map", f"irene {irene.number}\n")
    program = machine.write(
        "find", f'#!/bin/sh\nid=$(grep "^$1 " {map_file} | cut -d" " -f2)\necho "${{id:-none}}"\n'
    )
    program.chmod(0o755)
    keys = {**own.keys, "method": "code", "unenrolled": "ignore"}
    machine.configure(**keys, users=f"command:{program}")
    with su(users, HOSTILE[hostile]) as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        asked = hostile in ("nothing", "SIGCHLD ignored", "signals")
        try:
            login.expect(CODE, PATIENCE if asked else 5)
        except AssertionError:
            pass
        assert "inside" not in login.shown, machine.logged()
        if asked:
            login.type(irene.code())
            login.expect("inside")


def test_what_the_program_of_users_is_run_with(
    machine: Machine, own: Service, users: dict[str, int], irene: User
) -> None:
    seen = machine.etc / "seen"
    program = machine.write(
        "find",
        f"#!/bin/sh\n{{ umask; id -u; id -G; ulimit -n; pwd; grep Sig[BI] /proc/self/status; }} "
        f">{seen}\necho {irene.number}\n",
    )
    program.chmod(0o755)
    machine.configure(**own.keys, method="code", users=f"command:{program}")
    first = "os.umask(0); s.signal(s.SIGHUP, s.SIG_IGN); s.pthread_sigmask(s.SIG_BLOCK, [10]); "
    with su(users, first + "r.setrlimit(r.RLIMIT_NOFILE, (20, 4096))") as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        login.expect(CODE)
    none = ["SigBlk:", "0" * 16, "SigIgn:", "0" * 16]
    assert seen.read_text().split() == ["0022", "0", "0", "1024", "/", *none]
    assert seen.stat().st_mode & 0o777 == 0o644


def test_trouble_in_su_is_not_ignored(
    machine: Machine, own: Service, users: dict[str, int], irene: User
) -> None:
    """hank could make it himself: SIGSTOP until the time is over."""
    machine.configure(**own.keys, method="code", on_trouble="ignore")
    own.stop()
    with su(users) as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        login.expect(CODE)
        login.type(irene.code())
        assert login.wait() == 1
        assert "inside" not in login.shown
    lines = machine.logged()
    assert any("on_trouble=ignore does not apply" in line for line in lines), lines
    # Only root has started this one.
    machine.stack("code", "auth required pam_seconder.so", "auth required pam_permit.so")
    with Terminal("pamtester", "code", "irene", "authenticate") as login:
        login.expect(CODE)
        login.type(irene.code())
        assert login.wait() == 0, login.shown


def test_su_does_not_go_offline(machine: Machine, users: dict[str, int], tmp_path: Path) -> None:
    """hank stops it until the time of the call is over."""
    tmp_path.chmod(0o755)
    MACHINE_ID.unlink(missing_ok=True)
    MACHINE_ID.write_text("0123456789abcdef" * 2 + "\n")
    service = Service(tmp_path, None, "--offline-days=1")
    try:
        user = service.add_user()
        machine.map_users({"irene": user.number})
        keys = {"offline": "yes", "offline_days": 1, "offline_cache": tmp_path / "cache"}
        machine.configure(**service.keys, **keys, method="code")
        machine.only_the_module("code")
        with Terminal("pamtester", "code", "irene", "authenticate") as login:
            login.expect(CODE)
            login.type(user.code())
            assert login.wait() == 0, login.shown
        machine.configure(**service.keys, **keys, method="code", timeout=3)
        machine.logged()
        with su(users) as login:
            login.expect("Password: ")
            login.type(PASSWORD)
            login.expect(CODE)
            # The service is as slow as it takes to stop su before it replies.
            service.suspend()
            login.type(user.wrong())
            time.sleep(0.5)
            os.kill(login.pid, signal.SIGSTOP)
            time.sleep(3.5)
            os.kill(login.pid, signal.SIGCONT)
            login.expect("cannot be checked now")
            assert login.wait() == 1
            assert "cannot be reached" not in login.shown, login.shown
        lines = machine.logged()
        assert any("cannot log in offline: a user started" in line for line in lines), lines
        # Only root has started this one.
        with Terminal("pamtester", "code", "irene", "authenticate") as login:
            login.expect(CODE)
            login.type(user.code())
            assert login.wait() == 0, login.shown
        lines = machine.logged()
        assert any("accepted (OFFLINE" in line for line in lines), lines
    finally:
        service.stop()


def test_a_socket_of_somebody_else_is_no_trouble_to_ignore(
    machine: Machine, own: Service, users: dict[str, int], irene: User
) -> None:
    keys = {"method": "code", "on_trouble": "ignore"}
    regular = own.folder / "regular"
    regular.write_text("")
    machine.stack("code", "auth required pam_seconder.so", "auth required pam_permit.so")
    for path, reason in (
        (regular, "it is not a socket"),
        (regular / "x.sock", "it is not a socket"),
    ):
        machine.configure(url=f"unix:{path}", **keys)
        with Terminal("pamtester", "code", "irene", "authenticate") as login:
            login.expect(CODE)
            login.type(irene.code())
            assert login.wait() == 1, login.shown
        lines = machine.logged()
        assert any(reason in line for line in lines), lines
        assert any("misconfigured" in line for line in lines), lines
    theirs = Path("/run/theirs")
    theirs.mkdir(exist_ok=True)
    theirs.chmod(0o777)
    (theirs / "ours.sock").unlink(missing_ok=True)
    command = ["/usr/bin/python3", "-c", LISTENS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, user=4711, cwd="/") as listener:
        try:
            assert listener.stdout is not None and listener.stdout.readline()
            machine.configure(url="unix:/run/theirs/ours.sock", **keys)
            with Terminal("pamtester", "code", "irene", "authenticate") as login:
                login.expect(CODE)
                login.type(irene.code())
                assert login.wait() == 1, login.shown
        finally:
            listener.kill()
    lines = machine.logged()
    assert any("service_user in pam.conf) to 4711" in line for line in lines), lines


def test_a_hang_up_ends_the_wait_for_an_approval(
    machine: Machine, own: Service, users: dict[str, int], irene: User
) -> None:
    """sudo blocks the signal that would end other programs."""
    own.add_device(irene.number)
    machine.configure(**own.keys, method="push", tries=1, approval_timeout=60)
    login = Terminal("sudo", "id", "-un", user=users["hank"])
    login.expect("(?i)password[^\n]*: ")
    login.type(PASSWORD)
    login.expect("To approve[^\n]*press Enter[^\n]*: ")
    login.type("")
    time.sleep(1)
    os.close(login._fd)
    login._fd = -1
    end = time.monotonic() + 30
    while login.status is None and time.monotonic() < end:
        login._reap(os.WNOHANG)
        time.sleep(0.05)
    waited = login.status is None
    login.close()
    assert not waited, "it waits for somebody who has hung up"


CASELESS = """
#include <ctype.h>
#include <nss.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

/* A directory that ignores case. */
enum nss_status _nss_caseless_getpwnam_r(const char *name, struct passwd *user, char *buffer,
                                         size_t size, int *error)
{
    FILE *file = fopen("/etc/passwd", "re");
    struct passwd *found = NULL;
    while (fgetpwent_r(file, user, buffer, size, &found) == 0 && strcasecmp(user->pw_name, name))
        found = NULL;
    fclose(file);
    *error = 0;
    return found != NULL ? NSS_STATUS_SUCCESS : NSS_STATUS_NOTFOUND;
}
"""


def test_another_spelling_of_a_name_is_the_same_user(
    machine: Machine, own: Service, users: dict[str, int], irene: User, tmp_path: Path
) -> None:
    source = tmp_path / "caseless.c"
    source.write_text("#define _GNU_SOURCE\n" + CASELESS)
    library = tmp_path / "libnss_caseless.so.2"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", source, "-o", library], check=True)
    settings = Path("/etc/nsswitch.conf")
    before = settings.read_text() if settings.exists() else None
    settings.write_text("passwd: files caseless\ngroup: files\nshadow: files\n")
    machine.stack("code", "auth required pam_seconder.so", "auth required pam_permit.so")
    try:
        for key in ("only", "except"):
            listed = "irene" if key == "only" else "root IRENE"
            machine.configure(**own.keys, **{"method": "code", key: listed})
            command = ("pamtester", "code", "IRENE", "authenticate")
            with Terminal(*command, env={"LD_LIBRARY_PATH": str(tmp_path)}) as login:
                login.expect(CODE)
                login.type(irene.code())
                assert login.wait() == 0, login.shown
            lines = machine.logged()
            assert any("login of irene by code: accepted" in line for line in lines), lines
    finally:
        settings.unlink()
        if before is not None:
            settings.write_text(before)


LISTENS = """
import os, socket, time
listener = socket.socket(socket.AF_UNIX)
listener.bind("/run/theirs/ours.sock")
os.chmod("/run/theirs/ours.sock", 0o666)
listener.listen()
print("ready", flush=True)
time.sleep(300)
"""
