"""Programs that the tests start, each in a session of its own, so that all of it can be ended."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 60.0
"""How long to wait for what takes a second, in seconds: the machine may be busy."""


def wait(until: Callable[[], T | None], what: str, seconds: float = PATIENCE) -> T:
    """Waits until a condition holds, and returns what it returned."""
    end = time.monotonic() + seconds
    while not (found := until()):
        assert time.monotonic() < end, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.05)
    return found


def free_port() -> int:
    """A port of this machine on which nothing listens, and on which a program can be started again."""
    # From its own range, the system takes a port for whoever connects to somewhere or listens without naming one,
    # such as the tests that run beside this one. They would get this port while its program is stopped.
    system = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    low, high = map(int, system.split())
    # Browsers refuse to connect to some ports below these.
    ports = [port for port in range(20_000, 65_536) if not low <= port <= high]
    for port in random.sample(ports, len(ports)):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    raise AssertionError("no port is free outside the range of the system")


class Program:
    """A program that runs until `stop`. It writes to a file, so it never waits for a reader."""

    def __init__(
        self, command: Sequence[str | Path], log: Path, environment: Mapping[str, str]
    ) -> None:
        self._name = Path(command[0]).name
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    def printed(self, pattern: str) -> str:
        """Waits until the program prints this, and returns the group of the pattern."""

        def found() -> re.Match[str] | None:
            text = self.log.read_text(errors="replace")
            match = re.search(pattern, text, re.MULTILINE)
            assert match or self._process.poll() is None, f"{self._name} ended:\n{text}"
            return match

        match = wait(found, f"{pattern!r} of {self._name}: {self.log}")
        return match[1]

    def stop(self) -> None:
        """Ends the program, and what it started: a driver leaves its browser to itself."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            end = time.monotonic() + 10
            for process in self._session():
                try:
                    os.kill(process, number)
                except ProcessLookupError:
                    pass
            while self._session() and time.monotonic() < end:
                time.sleep(0.02)
        self._process.wait(PATIENCE)

    def _session(self) -> list[int]:
        """The processes of the session that are alive."""
        self._process.poll()
        found = []
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                status = entry.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(status[3]) == self._process.pid and status[0] not in "ZX":
                found.append(int(entry.parent.name))
        return found
