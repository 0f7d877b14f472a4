"""Chromium and WebKitGTK, by the WebDriver programs of Debian."""

from __future__ import annotations

import base64
import json
import os
import shutil
import tempfile
from abc import abstractmethod
from pathlib import Path
from typing import Any

from phone import WATCH, Phone, ScriptFailed, environment
from processes import Program, free_port, wait
from selenium.common.exceptions import (
    InvalidSessionIdException,
    StaleElementReferenceException,
    WebDriverException,
)
from selenium.webdriver import ActionChains, ChromeOptions, Remote, WebKitGTKOptions
from selenium.webdriver.chrome.remote_connection import ChromeRemoteConnection
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.client_config import ClientConfig
from selenium.webdriver.remote.remote_connection import RemoteConnection
from urllib3.exceptions import MaxRetryError, ProtocolError

CALL = """
const done = arguments[arguments.length - 1];
(async function () { BODY }).apply(null, JSON.parse(arguments[0]))
  .then((value) => done([true, value ?? null]), (error) => done([false, String(error)]));
"""


class Driven(Phone):
    """A browser that a WebDriver program started."""

    driver: Remote

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix=f"{self.name}-"))
        self._environment = environment(self._folder)
        self._programs: list[Program] = []
        try:
            self.driver = self.start()
            self.driver.set_page_load_timeout(60)
            self.driver.set_script_timeout(60)
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def start(self) -> Remote:
        """Starts the browser."""

    def run(self, *command: str | Path) -> Program:
        log = self._folder / f"{Path(command[0]).name}.log"
        program = Program(command, log, self._environment)
        self._programs.append(program)
        return program

    def open(self, url: str) -> None:
        self.driver.get(url)

    def script(self, body: str, *arguments: object) -> Any:
        run: Any = self.driver.execute_async_script
        try:
            right, value = run(CALL.replace("BODY", body), json.dumps(arguments))
        except InvalidSessionIdException:
            # The browser crashed, which no script can cause. The test is run once more.
            print(self._logs())
            raise
        except WebDriverException as error:
            raise ScriptFailed(str(error)) from error
        if not right:
            raise ScriptFailed(value)
        return value

    def click(self, selector: str) -> None:
        def clicked() -> bool:
            try:
                self.driver.find_element(By.CSS_SELECTOR, selector).click()
            except StaleElementReferenceException:
                # The page has drawn it again between the two commands.
                return False
            return True

        wait(clicked, f"a click on {selector}")

    def keys(self, text: str) -> None:
        ActionChains(self.driver).send_keys(text).perform()

    def _logs(self) -> str:
        logs = (program.log.read_text(errors="replace")[-4000:] for program in self._programs)
        return "\n".join(logs)

    def close(self) -> None:
        for program in reversed(self._programs):
            program.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


class Chromium(Driven):
    """A Chromium that trusts one key, because service workers need a certificate that is valid."""

    name = "chromium"
    pushes = True

    def __init__(self, trusted: str) -> None:
        """Trusts the key of which this is the SHA-256 in Base64."""
        self._trusted = trusted
        super().__init__()

    def start(self) -> Remote:
        # One that it chooses for IPv6 may be in use for IPv4, and then it ends.
        started = self.run("chromedriver", f"--port={free_port()}")
        port = started.printed(r"started successfully on port (\d+)")
        options = ChromeOptions()
        for flag in (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
            "--lang=en",
            f"--ignore-certificate-errors-spki-list={self._trusted}",
            f"--user-data-dir={self._folder / 'profile'}",
        ):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = Remote(ChromeRemoteConnection(f"http://127.0.0.1:{port}"), options=options)
        self.driver = driver
        self.cdp("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        return driver

    def cdp(self, command: str, **parameters: object) -> dict[str, Any]:
        """Calls the DevTools protocol."""
        call: Any = self.driver.execute
        done: dict[str, Any] = call("executeCdpCommand", {"cmd": command, "params": parameters})
        reply: dict[str, Any] = done["value"]
        return reply

    def resize(self, width: int, height: int) -> None:
        """Makes the page this large, in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.cdp("Emulation.setDeviceMetricsOverride", **size)

    def media(self, **features: str) -> None:
        """Sets media features by their names, with `_` for `-`, and all others as they were."""
        named = [{"name": name.replace("_", "-"), "value": features[name]} for name in features]
        self.cdp("Emulation.setEmulatedMedia", features=named)

    def speak(self, language: str) -> None:
        """Prefers a language from the next page on."""
        agent = self.script("return navigator.userAgent")
        self.cdp("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage=language)

    def picture(self) -> bytes:
        """Takes a picture of what is visible."""
        return base64.b64decode(self.cdp("Page.captureScreenshot")["data"])

    def permit(self, origin: str, notifications: bool) -> None:
        self.cdp(
            "Browser.setPermission",
            permission={"name": "notifications"},
            setting="granted" if notifications else "denied",
            origin=origin,
        )

    def complaints(self) -> list[str]:
        call: Any = self.driver.execute
        logged = [entry["message"] for entry in call("getLog", {"type": "browser"})["value"]]
        # Chromium logs every response with such a status.
        found = [text for text in logged if "the server responded with a status" not in text]
        return found + list(self.script("return complaints.splice(0)"))


class WebKit(Driven):
    """WebKitGTK's small browser, on a screen that nobody sees. It has no Web Push."""

    name = "webkit"
    pushes = False

    def start(self) -> Remote:
        # It would start again after its last window is closed, and end programs that are about to open one.
        size = ("-screen", "0", "1400x1400x24")
        screen = self.run("Xvfb", "-displayfd", "1", *size, "-nolisten", "tcp", "-noreset")
        self._environment["DISPLAY"] = ":" + screen.printed(r"^(\d+)$")
        self._environment["GDK_BACKEND"] = "x11"
        if os.geteuid() == 0:
            # Its sandbox works for ordinary users only.
            self._environment["WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS"] = "1"
        port = free_port()
        self.run("WebKitWebDriver", f"--port={port}")
        options = WebKitGTKOptions()
        options.binary_location = next(
            str(path) for path in Path("/usr/lib").glob("*/webkit2gtk-4.1/MiniBrowser")
        )
        options.add_argument("--automation")
        options.accept_insecure_certs = True

        address = ClientConfig(f"http://127.0.0.1:{port}")

        def connect() -> Remote | None:
            try:
                return Remote(RemoteConnection(client_config=address), options=options)
            except (MaxRetryError, ProtocolError):
                return None  # The driver does not listen yet.

        return wait(connect, "WebKitWebDriver")

    def open(self, url: str) -> None:
        super().open(url)
        # Nothing can run before the page does, so what its first lines do is left to other browsers.
        self.script(WATCH)

    def permit(self, origin: str, notifications: bool) -> None:
        """It has no notifications without Web Push, so there is nothing to permit."""

    def complaints(self) -> list[str]:
        # A page that was reloaded since it was opened is not watched.
        return list(self.script("return window.complaints?.splice(0) ?? []"))
