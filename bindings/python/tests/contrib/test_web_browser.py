"""A real browser logs in to the Flask example, by every method.

`make screenshots` writes the screenshots to docs/images."""

from __future__ import annotations

import base64
import io
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zxingcpp
from contrib.conftest import ROOT, Running, running
from PIL import Image
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

import seconder

IMAGES = ROOT / "docs" / "images"
SHOTS = ["second", "sms", "authenticator", "push", "phone", "home"]
WIDTH = 460
"""The width of a page in pixels, as on a phone."""


@dataclass
class Browser:
    """A Chromium window on the application, and the actions of a user in it."""

    driver: Chrome
    url: str

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def go(self, path: str) -> None:
        self.driver.get(self.url + path)

    def type(self, label: str, text: str) -> WebElement:
        """Types into the field with this accessible name."""
        fields = self.driver.find_elements(By.CSS_SELECTOR, "input:not([type=hidden])")
        field = next(field for field in fields if field.accessible_name == label)
        field.send_keys(text)
        return field

    def press(self, name: str) -> None:
        """Presses the button or link with this accessible name, and waits for the next page."""
        self.driver.execute_script("window.left = true")
        pressed = self.driver.find_elements(By.CSS_SELECTOR, "button, a")
        next(one for one in pressed if one.accessible_name == name).click()
        here = "return window.left !== true && document.readyState === 'complete'"
        self.wait(lambda driver: driver.execute_script(here))

    def wait(self, until: Callable[[Chrome], object]) -> None:
        # Between two pages, the driver raises many different exceptions.
        WebDriverWait(self.driver, 20, 0.05, [WebDriverException]).until(until)

    def heading(self, text: str) -> None:
        """Waits for the page with this heading."""
        self.wait(lambda driver: driver.find_element(By.TAG_NAME, "h1").text == text)

    def shoot(self, name: str) -> None:
        """Takes a screenshot of the whole page, and saves it if ``SCREENSHOTS`` is set."""
        last = "[...document.querySelectorAll('main, footer')].at(-1)"
        bottom = self.driver.execute_script(f"return {last}.getBoundingClientRect().bottom")
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": int(bottom) + 24, "scale": 1}
        taken = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
        )
        picture = Image.open(io.BytesIO(base64.b64decode(taken["data"]))).convert("RGB")
        assert picture.width == WIDTH and len(picture.getcolors(2**20) or []) > 50
        if folder := os.environ.get("SCREENSHOTS"):
            Path(folder).mkdir(exist_ok=True)
            small = picture.quantize(256, dither=Image.Dither.NONE)
            small.save(Path(folder) / f"login-{name}.png", optimize=True)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Running]:
    with running("flask_app", tmp_path) as site:
        yield site


@pytest.fixture
def browser(site: Running, tmp_path: Path) -> Iterator[Browser]:
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not binary or not driver:
        assert os.geteuid() != 0, "chromium and chromium-driver are missing: run `make tools-python`"
        pytest.skip("NOT TESTED in a browser: chromium and chromium-driver are not installed")
    options = ChromeOptions()
    options.binary_location = binary
    for flag in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--hide-scrollbars",
        "--force-device-scale-factor=1",
        "--lang=en",
        f"--user-data-dir={tmp_path / 'chromium'}",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with Chrome(options=options, service=ChromeService(driver)) as chrome:
        chrome.set_page_load_timeout(30)
        chrome.set_window_size(WIDTH, 800)
        yield Browser(chrome, site.url)


def to_second_step(browser: Browser) -> None:
    browser.heading("Log in")
    browser.type("Name", "ada")
    browser.type("Password", "correct horse")
    browser.press("Continue")
    browser.heading("Is it you, Ada?")


def on_the_phone(browser: Browser, act: Callable[[], str]) -> str:
    """Acts on the demo phone, which is a separate window."""
    login = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("window")
    browser.driver.set_window_size(WIDTH, 800)
    browser.go("/demo/phone")
    browser.heading("Phone")
    done = act()
    browser.driver.close()
    browser.driver.switch_to.window(login)
    return done


def sms(browser: Browser) -> str:
    texts = browser.driver.find_elements(By.CSS_SELECTOR, ".card p")
    return str(re.findall(r"\b\d{7}\b", texts[0].text)[0])


def scanned(browser: Browser) -> str:
    """Scans the QR code on the page."""
    seen: list[str] = []

    def look(_: Chrome) -> bool:
        # On a busy machine the image is painted after the page is complete.
        picture = Image.open(io.BytesIO(browser.find("img.qr").screenshot_as_png))
        seen[:] = [found.text for found in zxingcpp.read_barcodes(picture)]
        return len(seen) == 1

    browser.wait(look)
    return seen[0]


def approve(browser: Browser) -> str:
    browser.shoot("phone")
    browser.press("Yes, it is me")
    return ""


def test_a_browser_logs_in_by_every_method(browser: Browser, site: Running) -> None:
    browser.go("/")
    to_second_step(browser)
    browser.press("Text me a code")
    browser.heading("Your code")
    field = browser.type("Code", on_the_phone(browser, lambda: sms(browser)))
    assert field.get_attribute("autocomplete") == "one-time-code"
    assert field.get_attribute("inputmode") == "numeric"
    browser.shoot("sms")
    browser.press("Log in")
    browser.heading("Welcome, Ada.")

    browser.press("Set up an authenticator app")
    browser.heading("Authenticator app")
    browser.shoot("authenticator")
    uri, now = scanned(browser), time.time()
    assert uri.startswith("otpauth://totp/") and "issuer=Example" in uri
    browser.find("summary").click()
    assert browser.find("details code").text == uri
    browser.type("The code that the app shows now", seconder.totp.code(uri, now))
    browser.press("Confirm")
    browser.heading("Welcome, Ada.")
    browser.press("Approve on my phone")
    browser.heading("Welcome, Ada.")
    browser.shoot("home")
    browser.press("Log out")

    to_second_step(browser)
    browser.shoot("second")
    browser.press("Ask my phone")
    browser.heading("Look at your phone")
    browser.shoot("push")
    on_the_phone(browser, lambda: approve(browser))
    browser.heading("Welcome, Ada.")
    assert "approved by user" in site.log.read_text(), "there was no callback"
    browser.press("Log out")

    to_second_step(browser)
    browser.press("Use my authenticator app")
    browser.heading("Your code")
    browser.type("Code", "123456")
    browser.press("Log in")
    browser.wait(lambda driver: driver.find_elements(By.CSS_SELECTOR, "[role=alert]"))
    browser.type("Code", seconder.totp.code(uri, now + 30))
    browser.press("Log in")
    browser.heading("Welcome, Ada.")
    driver: Any = browser.driver
    complaints = [entry["message"] for entry in driver.get_log("browser")]
    # Chromium logs every response with status 401.
    assert [text for text in complaints if " 401 " not in text] == []


def test_the_screenshots_in_the_documents_exist() -> None:
    text = (ROOT / "docs" / "web.md").read_text()
    for name in SHOTS:
        with Image.open(IMAGES / f"login-{name}.png") as picture:
            assert picture.width == WIDTH
        assert f"images/login-{name}.png" in text
