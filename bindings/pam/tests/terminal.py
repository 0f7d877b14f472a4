"""Programs on a terminal, as a user sees them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

PATIENCE = 60.0
"""The time limit of a program for each step, in seconds. Machines that test are busy."""


class Terminal:
    """A program that runs on a pseudo-terminal of its own."""

    def __init__(
        self,
        *command: object,
        env: dict[str, str] | None = None,
        user: int | None = None,
        cwd: str = "/",
    ) -> None:
        self.shown = ""
        """The output of the program so far."""
        self.status: int | None = None
        """The exit status, or the negative number of the signal that ended the program."""
        self._seen = 0
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "dumb", **(env or {})}
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            try:
                for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
                    signal.signal(number, signal.SIG_DFL)
                os.chdir(cwd)
                if user is not None:
                    os.chown(os.ttyname(0), user, -1)
                    os.setgroups([])
                    os.setgid(user)
                    os.setuid(user)
                os.execvpe(str(command[0]), [str(part) for part in command], environment)
            finally:
                os._exit(127)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))

    def expect(self, pattern: str, patience: float = PATIENCE) -> re.Match[str]:
        """Waits until the program prints this, after what was expected before."""
        end = time.monotonic() + patience
        while True:
            found = re.search(pattern, self.shown[self._seen :])
            if found:
                self._seen += found.end()
                return found
            left = end - time.monotonic()
            if left <= 0 or not self._read(left):
                raise AssertionError(f"no {pattern!r} in:\n{self.shown}")

    def type(self, text: str, end: str = "\r") -> None:
        os.write(self._fd, (text + end).encode())

    def press(self, key: str) -> None:
        """Types a key, such as "^C"."""
        os.write(self._fd, bytes([ord(key[1]) - 64]) if len(key) == 2 else key.encode())

    def silent_for(self, seconds: float) -> bool:
        """Returns whether the program prints nothing and runs on for so long."""
        before = len(self.shown)
        self._read(seconds)
        return len(self.shown) == before and self.status is None

    def wait(self, patience: float = PATIENCE) -> int:
        """Waits until the program ends, and returns its exit status."""
        end = time.monotonic() + patience
        while self.status is None:
            if time.monotonic() > end:
                self.close()
                raise AssertionError(f"it has not ended:\n{self.shown}")
            self._read(0.05)
            self._reap(os.WNOHANG)
        while self._read(0.0):
            pass
        return self.status

    def press_until(self, key: str, pattern: str) -> None:
        """Types a key until the program prints this: it may discard what is typed too early."""
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, self.shown[self._seen :]) and time.monotonic() < end:
            self.press(key)
            self._read(0.5)
        self.expect(pattern)

    def interrupt(self) -> int:
        """Types ^C until the program ends, and returns its exit status. Programs discard what is typed
        between their question and the moment at which they read."""
        end = time.monotonic() + PATIENCE
        while self.status is None and time.monotonic() < end:
            with contextlib.suppress(OSError):  # The program has ended.
                self.press("^C")
            self._read(0.2)
            self._reap(os.WNOHANG)
        return self.wait()

    def close(self) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self._reap(0)
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _reap(self, flags: int) -> None:
        pid, status = os.waitpid(self.pid, flags)
        if pid:
            self.status = os.waitstatus_to_exitcode(status)

    def _read(self, seconds: float) -> bool:
        """Reads what is printed within that time, and whether there may be more."""
        if not select.select([self._fd], [], [], seconds)[0]:
            return False
        try:
            read = os.read(self._fd, 4096)
        except OSError:  # The program has ended.
            return False
        self.shown += read.decode(errors="replace").replace("\r\n", "\n")
        return bool(read)
