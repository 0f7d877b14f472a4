"""Firefox by WebDriver BiDi, which it speaks itself: Debian has no geckodriver."""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from phone import WATCH, Phone, ScriptFailed, environment
from processes import PATIENCE, Program
from websocket import WebSocket, WebSocketTimeoutException, create_connection

PREFERENCES = {
    "dom.push.connection.enabled": True,
    "dom.push.testing.allowInsecureServerURL": True,
    # Without a display, notifications of the system cannot be shown.
    "alerts.useSystemBackend": False,
    # Nothing is asked of other machines.
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.safebrowsing.update.enabled": False,
    "browser.search.update": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "toolkit.telemetry.server": "data:,",
    # Starts faster.
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "browser.startup.page": 0,
    "intl.accept_languages": "en-US",
}

CALL = """async (given) => JSON.stringify(
  (await (async function () { BODY }).apply(null, JSON.parse(given))) ?? null)"""


class CommandFailed(Exception):
    """The browser rejected a command."""


class Firefox:
    """A Firefox that accepts every certificate, and has its pushes from the service of the tests.

    Starting it takes seconds, so it has several phones: a container for each."""

    def __init__(self, push_service: str) -> None:
        """Connects to the push service at this `ws:` URL."""
        self._folder = Path(tempfile.mkdtemp(prefix="firefox-"))
        self._numbers = itertools.count(1)
        self._connection: WebSocket | None = None
        self.logged: list[dict[str, Any]] = []
        profile = self._folder / "profile"
        profile.mkdir()
        lines = {**PREFERENCES, "dom.push.serverURL": push_service}.items()
        text = "".join(f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in lines)
        (profile / "user.js").write_text(text)
        command = ["firefox-esr", "--headless", "--no-remote", "--profile", str(profile)]
        self._program = Program(
            [*command, "--remote-debugging-port=0"],
            self._folder / "firefox.log",
            environment(self._folder),
        )
        try:
            url = self._program.printed(r"WebDriver BiDi listening on (ws://\S+)")
            self._connection = create_connection(
                f"{url}/session", timeout=PATIENCE, suppress_origin=True
            )
            capabilities = {"alwaysMatch": {"acceptInsecureCerts": True}}
            self.command("session.new", capabilities=capabilities)
            self.command("session.subscribe", events=["log.entryAdded"])
            self.command("script.addPreloadScript", functionDeclaration=f"() => {{ {WATCH} }}")
        except BaseException:
            self.close()
            raise

    def command(self, method: str, **parameters: object) -> dict[str, Any]:
        """Sends a command of WebDriver BiDi, and returns its result."""
        assert self._connection is not None
        number = next(self._numbers)
        end = time.monotonic() + PATIENCE
        text = json.dumps({"id": number, "method": method, "params": parameters})
        self._connection.send(text)
        while True:
            self._connection.settimeout(max(0.01, end - time.monotonic()))
            try:
                reply = json.loads(self._connection.recv())
            except WebSocketTimeoutException:
                raise AssertionError(f"waited {PATIENCE:.0f} s for {method}") from None
            if reply.get("method") == "log.entryAdded":
                self.logged.append(reply["params"])
            if reply.get("id") == number:
                if reply["type"] == "error":
                    raise CommandFailed(f"{method}: {reply['error']}: {reply['message']}")
                result: dict[str, Any] = reply["result"]
                return result

    def phone(self) -> FirefoxPhone:
        return FirefoxPhone(self)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._program.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


class FirefoxPhone(Phone):
    """A container of Firefox, with one page."""

    name = "firefox"
    pushes = True

    def __init__(self, firefox: Firefox) -> None:
        self._firefox = firefox
        self._container = firefox.command("browser.createUserContext")["userContext"]
        tab = firefox.command("browsingContext.create", type="tab", userContext=self._container)
        self._page = {"context": tab["context"]}

    def open(self, url: str) -> None:
        self._firefox.command("browsingContext.navigate", **self._page, url=url, wait="complete")

    def script(self, body: str, *arguments: object) -> Any:
        try:
            done = self._firefox.command(
                "script.callFunction",
                functionDeclaration=CALL.replace("BODY", body),
                arguments=[{"type": "string", "value": json.dumps(arguments)}],
                target=self._page,
                awaitPromise=True,
                userActivation=False,
            )
        except CommandFailed as error:
            raise ScriptFailed(str(error)) from error
        if done["type"] == "exception":
            raise ScriptFailed(done["exceptionDetails"]["text"])
        return json.loads(done["result"]["value"])

    def click(self, selector: str) -> None:
        self.script("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        locator = {"type": "css", "value": selector}
        found = self._firefox.command(
            "browsingContext.locateNodes", **self._page, locator=locator, maxNodeCount=1
        )["nodes"][0]
        origin = {"type": "element", "element": {"sharedId": found["sharedId"]}}
        moves = [
            {"type": "pointerMove", "x": 0, "y": 0, "origin": origin},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        self._act({"type": "pointer", "id": "finger", "actions": moves})

    def keys(self, text: str) -> None:
        ways = ("keyDown", "keyUp")
        presses = [{"type": way, "value": character} for character in text for way in ways]
        self._act({"type": "key", "id": "keyboard", "actions": presses})

    def wake(self) -> None:
        self._firefox.command("browsingContext.activate", **self._page)

    def _act(self, *sources: dict[str, object]) -> None:
        self._firefox.command("input.performActions", **self._page, actions=sources)

    def permit(self, origin: str, notifications: bool) -> None:
        self._firefox.command(
            "permissions.setPermission",
            descriptor={"name": "notifications"},
            state="granted" if notifications else "denied",
            origin=origin,
            userContext=self._container,
        )

    def complaints(self) -> list[str]:
        found = [
            str(entry["text"])
            for entry in self._firefox.logged
            if entry["source"]["context"] == self._page["context"]
            and entry["level"] in ("warn", "error")
        ]
        self._firefox.logged.clear()
        return found + list(self.script("return complaints.splice(0)"))

    def close(self) -> None:
        self._firefox.command("browser.removeUserContext", userContext=self._container)
