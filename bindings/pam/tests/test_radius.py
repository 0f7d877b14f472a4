"""The recipes of docs/pam.md for FreeRADIUS, with its server as a user that is not root."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import recipes
from machine import PASSWORD, Machine, without
from service import PROGRAM, Service, User

pytestmark = [
    pytest.mark.private,
    pytest.mark.skipif(without("freeradius"), reason="freeradius is not installed"),
]

RADDB = Path("/etc/freeradius/3.0")
SECRET = "the-secret-of-the-tests"
SERVER = """
prefix = /usr
libdir = /usr/lib/freeradius
logdir = /var/log/freeradius
run_dir = /run/freeradius
security {{
    user = freerad
    group = freerad
}}
thread pool {{
    start_servers = 1
    max_servers = 2
}}
client localhost {{
    ipaddr = 127.0.0.1
    secret = {secret}
}}
modules {{
    pam {{
        pam_auth = radiusd
    }}
    $INCLUDE {raddb}/mods-available/seconder
}}
server default {{
    listen {{
        type = auth
        ipaddr = 127.0.0.1
        port = {port}
    }}
    authorize {{
        if (&NAS-Identifier == "exec") {{
            update control {{
                Auth-Type := seconder
            }}
        }}
        else {{
            update control {{
                Auth-Type := pam
            }}
        }}
    }}
    authenticate {{
        Auth-Type pam {{
            pam
        }}
        Auth-Type seconder {{
            seconder
        }}
    }}
}}
"""


def block(title: str) -> str:
    """A block of the page for a unit."""
    found = re.search(rf"^# in {re.escape(title)}\n(.*?)^```$", recipes.PAGE.read_text(), re.M | re.S)
    assert found, title
    return found[1]


@pytest.fixture(scope="module")
def serving() -> Iterator[Service]:
    """The service, with the rules and on the socket of the recipe."""
    folder = Path("/run/seconder")
    folder.mkdir(mode=0o755)
    allowed = re.findall(r"--allow (\S+)", block("/etc/systemd/system/seconder.service.d/radius.conf"))
    assert len(allowed) == 1
    # The configuration has the first rule.
    service = Service(folder, None, *(f"--allow={rule}" for rule in ["root=login", *allowed]))
    unit = block("/etc/systemd/system/seconder.socket.d/radius.conf")
    keys = dict(re.findall(r"^(Socket\w+)=(\S+)$", unit, re.M))
    shutil.chown(service.socket, group=keys["SocketGroup"])
    service.socket.chmod(int(keys["SocketMode"], 8))
    yield service
    service.stop()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def radius(machine: Machine) -> Iterator[int]:
    """The port of the server."""
    machine.add_user("radia")
    recipes.apply("/etc/pam.d/radiusd")
    recipes.apply("/etc/freeradius/3.0/mods-available/seconder")
    recipes.apply("/usr/local/sbin/radius-seconder").chmod(0o755)
    # The shell of `radiusd`, which has no PATH, looks there, and its user may read it.
    shutil.copy(Path(PROGRAM).with_name("seconder-login"), "/usr/local/sbin/seconder-login")
    for folder in ("/run/freeradius", "/var/log/freeradius"):
        Path(folder).mkdir()
        shutil.chown(folder, "freerad", "freerad")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = SERVER.format(secret=SECRET, raddb=RADDB, port=port)
    (RADDB / "tested.conf").write_text(text)
    command = ["freeradius", "-f", "-l", "stdout", "-d", str(RADDB), "-n", "tested"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        printed = ""
        for line in server.stdout:
            printed += line
            if "Ready to process requests" in line:
                break
        else:
            raise AssertionError(f"freeradius did not start:\n{printed}")
        user = os.stat(f"/proc/{server.pid}").st_uid
        assert user != 0, "it must have given up the rights of root"
        yield port
        server.terminate()


def accepted(port: int, name: str, password: str, site: str) -> bool:
    pairs = f'User-Name = "{name}", User-Password = "{password}", NAS-Identifier = "{site}"\n'
    done = subprocess.run(
        ["radclient", "-x", "-r", "1", "-t", "30", f"127.0.0.1:{port}", "auth", SECRET],
        input=pairs,
        capture_output=True,
        text=True,
    )
    found = re.search(r"Received Access-(Accept|Reject)", done.stdout)
    assert found, done.stdout + done.stderr
    assert (done.returncode == 0) == (found[1] == "Accept")
    return found[1] == "Accept"


@pytest.fixture
def radia(machine: Machine, serving: Service) -> User:
    machine.configure(**serving.keys)
    user = serving.add_user()
    machine.map_users({"radia": user.number})
    machine.logged()
    return user


def test_a_password_and_a_code_by_rlm_pam(machine: Machine, radius: int, radia: User) -> None:
    assert not accepted(radius, "radia", PASSWORD + radia.wrong(), "pam")
    assert not accepted(radius, "radia", "guess" + radia.code(), "pam")
    assert not accepted(radius, "radia", PASSWORD, "pam")
    assert accepted(radius, "radia", PASSWORD + radia.code(), "pam"), machine.logged()


def test_a_code_by_rlm_exec(machine: Machine, radius: int, radia: User) -> None:
    assert not accepted(radius, "radia", radia.wrong(), "exec")
    assert accepted(radius, "radia", radia.code(), "exec"), machine.logged()
    logged = [line for line in machine.logged() if " seconder-login[" in line or ">seconder-login[" in line]
    assert any("login of radia by radiusd: accepted" in line for line in logged), logged
    # 85 is a notice of authpriv.
    assert all(line.startswith("<85>") for line in logged), logged


def test_syslog_says_why_nobody_can_log_in(machine: Machine, radius: int, radia: User) -> None:
    """The folder as it was before, which `radiusd` may not read."""
    machine.etc.chmod(0o750)
    try:
        assert not accepted(radius, "radia", radia.code(), "exec")
        logged = machine.logged()
        assert any("seconder-login[" in line and "/etc/seconder" in line for line in logged), logged
        done = check("--as=freerad")
        assert done.returncode != 0 and "/etc/seconder" in done.stderr, done
    finally:
        machine.etc.chmod(0o755)


def check(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, "check-pam", *options], capture_output=True, text=True)


def test_the_check_has_the_rights_of_the_user(machine: Machine, serving: Service, radia: User) -> None:
    done = check("--as=freerad")
    assert done.returncode == 0 and "The service replies." in done.stdout, done
    # The groups of root are given up too, in favour of the user's.
    done = check("--as=daemon")
    assert done.returncode != 0 and "this process may not use" in done.stderr, done
    secret = machine.write("key", "a-key")
    os.chmod(secret, 0o640)
    machine.configure(url="https://localhost", api_key_file=secret)
    assert "key cannot be opened: Permission denied" in check("--as=freerad").stderr
    shutil.chown(secret, group="shadow")
    assert "cannot be opened" not in check("--as=freerad").stderr
    done = check("--as=nobody-of-this-name")
    assert "is no user of this machine" in done.stderr, done
