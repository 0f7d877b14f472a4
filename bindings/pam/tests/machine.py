"""The machine that users log in to: files of /etc, login names and syslog."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

from terminal import PATIENCE

PASSWORD = "correct horse 7"
PRIVATE = bool(os.environ.get("SECONDER_NAMESPACE"))
"""True if this is root in a mount namespace of its own."""
SERVICE_USER = 4100
"""The number of the user of the service."""


class Machine:
    """In a mount namespace, what programs see; otherwise, what libpam-wrapper makes of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.etc = Path("/etc/seconder") if PRIVATE else folder / "etc"
        self.pam = Path("/etc/pam.d") if PRIVATE else folder / "pam.d"
        self.pam.mkdir(exist_ok=True)
        self.pam.chmod(0o755)
        if PRIVATE:
            make_folders()
        else:
            self.etc.mkdir()
        self.log = Syslog() if PRIVATE else None
        self._next = 4200

    @property
    def module(self) -> str:
        """The module, and what it needs to find its configuration."""
        if PRIVATE:
            return "pam_seconder.so"
        return f"{os.environ['SECONDER_MODULE']} conf={self.etc}/pam.conf"

    @property
    def environment(self) -> dict[str, str]:
        if PRIVATE:
            return {}
        return {
            "LD_PRELOAD": "libpam_wrapper.so",
            "PAM_WRAPPER": "1",
            "PAM_WRAPPER_SERVICE_DIR": str(self.pam),
        }

    def add_user(self, name: str) -> int:
        """Adds a login name with a password, and returns its number."""
        self._next += 1
        number = self._next
        home = Path("/home") / name
        home.mkdir(parents=True)
        os.chown(home, number, number)
        digest = subprocess.run(
            ["openssl", "passwd", "-6", PASSWORD], check=True, capture_output=True, text=True
        ).stdout.strip()
        append("/etc/passwd", f"{name}:x:{number}:{number}::{home}:/bin/sh\n")
        append("/etc/group", f"{name}:x:{number}:\n")
        append("/etc/shadow", f"{name}:{digest}:20000::::::\n")
        return number

    def stack(self, service: str, *lines: str) -> None:
        """Writes a file of /etc/pam.d."""
        text = "".join(f"{line}\n" for line in lines)
        (self.pam / service).write_text(text.replace("pam_seconder.so", self.module))

    def only_the_module(self, service: str, arguments: str = "") -> None:
        self.stack(
            service, f"auth required pam_seconder.so {arguments}", "account required pam_permit.so"
        )

    def configure(self, **keys: object) -> None:
        """Writes the configuration of the module."""
        keys.setdefault("users", f"file:{self.etc}/users")
        lines = [f"{key} = {value}\n" for key, value in keys.items()]
        self.write("pam.conf", "".join(lines))

    def map_users(self, users: dict[str, int]) -> None:
        self.write("users", "".join(f"{name} = {number}\n" for name, number in users.items()))

    def write(self, name: str, text: str) -> Path:
        path = self.etc / name
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o644)
        return path

    def logged(self) -> list[str]:
        """Returns the lines that were sent to syslog since the last time."""
        return self.log.take() if self.log else []

    def close(self) -> None:
        if self.log:
            self.log.close()


def make_folders() -> None:
    """Makes the user of the service, and its folders, as systemd-sysusers and systemd-tmpfiles do."""
    units = Path(__file__).resolve().parents[3] / "packaging" / "systemd"
    kind, name = (units / "seconder.sysusers").read_text().splitlines()[-1].split()[:2]
    assert kind == "u"
    prepend("/etc/passwd", f"{name}:x:{SERVICE_USER}:{SERVICE_USER}::/:/usr/sbin/nologin\n")
    prepend("/etc/group", f"{name}:x:{SERVICE_USER}:\n")
    for line in (units / "seconder.tmpfiles").read_text().splitlines():
        fields = line.split()
        if fields[0] == "d" and fields[1].startswith("/etc/"):
            Path(fields[1]).mkdir(exist_ok=True)
            shutil.chown(fields[1], fields[3], fields[4])
            Path(fields[1]).chmod(int(fields[2], 8))


class Syslog:
    """Listens at /dev/log."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._seen = threading.Event()
        Path("/dev/log").unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind("/dev/log")
        os.chmod("/dev/log", 0o666)
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()

    def _receive(self) -> None:
        while True:
            line = self._socket.recv(16384).decode(errors="replace")
            if line == "close":
                return
            if line == "take":
                self._seen.set()
            else:
                self._lines.append(line)

    def take(self) -> list[str]:
        # Other processes of the program may end a little later.
        time.sleep(0.1)
        # A datagram was queued before the program that sent it ended, so before this one.
        self._seen.clear()
        self._send(b"take")
        assert self._seen.wait(PATIENCE)
        lines, self._lines = self._lines, []
        return [re.sub(r"^(<\d+>)\w+ +\d+ [\d:]+ ", r"\1", line) for line in lines]

    def close(self) -> None:
        self._send(b"close")
        self._thread.join()
        self._socket.close()

    def _send(self, text: bytes) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
            client.sendto(text, "/dev/log")


def prepend(path: str, text: str) -> None:
    """Adds a line that precedes the machine's own: a package may have made the same user."""
    rest = Path(path).read_text()
    Path(path).write_text(text + rest)


def append(path: str, text: str) -> None:
    with open(path, "a") as file:
        file.write(text)


def without(program: str) -> bool:
    return shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin") is None
