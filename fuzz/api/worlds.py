"""The services that are called: in this process, in a file, over HTTP, and with asyncio."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import seconder
from seconder.testing import Sandbox

from checks import Checks

KEY = "a-key-that-no-error-may-show"
KINDS = ("sandbox", "opened", "http", "sqlite", "memory")


class World:
    """A service, and what stands behind it."""

    def __init__(self, generator: random.Random, folder: Path, checks: Checks) -> None:
        self.kind = generator.choice(KINDS)
        self.sandbox: Sandbox | None = None
        self.closed = False
        """Set once the service is closed: later calls must not return."""
        self.closing = False
        """Set before the service or its sandbox is closed: from then on, other threads may meet either closed."""
        checks.secret(KEY)
        if self.kind in ("sandbox", "opened", "http"):
            self.sandbox = Sandbox(api_key=KEY, run_deliver=True)
            self.service = self._of_sandbox(self.sandbox, generator, checks)
        else:
            url = f"sqlite:{folder}/fuzz.db" if self.kind == "sqlite" else "sandbox:?accept=right"
            self.service = seconder.open(
                url,
                api_key=KEY,
                deliver=checks.delivered,
                engine=seconder.EngineOptions(offline_days=7),
            )
        self._handles = [self.service]
        self._checks = checks
        self._seen = 0
        self._looking = threading.Lock()

    def _of_sandbox(
        self, sandbox: Sandbox, generator: random.Random, checks: Checks
    ) -> seconder.Service:
        if self.kind == "http":
            return seconder.open(
                sandbox.url,
                api_key=KEY,
                timeout=20,
                client=seconder.ClientOptions(
                    allow_loopback_http=True,
                    repeats="none",
                    format=generator.choice(["json", "xml"]),
                ),
            )
        if self.kind == "opened":
            return sandbox.open("sqlite:fuzz.db", deliver=checks.delivered)
        return sandbox.open("sandbox:?accept=right", deliver=checks.delivered)

    def now(self) -> float:
        """The time of the service."""
        return time.time() if self.sandbox is None else self.sandbox.now.timestamp()

    def look_at_messages(self) -> None:
        """Takes the messages that a service behind HTTP sent, where no function delivers them."""
        if self.sandbox is not None and self.kind == "http":
            # Otherwise a thread could go on while another one still takes its message.
            with self._looking:
                messages = self.sandbox.messages
                for message in messages[self._seen :]:
                    self._checks.delivered(message)
                self._seen = len(messages)

    def handle(self, generator: random.Random) -> seconder.Service:
        return generator.choice(self._handles)

    def add(self, handle: seconder.Service) -> None:
        """Keeps another handle of the service."""
        self._handles = [*self._handles[:6], handle]

    def close(self, generator: random.Random) -> None:
        """Closes the service, by any of its handles or with its sandbox."""
        self.closing = True
        if self.sandbox is not None and generator.random() < 0.5:
            self.sandbox.close()
            # A client of its URL is closed by itself.
            if self.kind != "http":
                self.closed = True
                return
        self.handle(generator).close()
        self.closed = True

    def end(self) -> None:
        self.service.close()
        if self.sandbox is not None:
            self.sandbox.close()
