"""A real browser logs in to the Flask example, by every method.

`make screenshots` writes the screenshots to docs/images."""

from __future__ import annotations

import io
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zxingcpp
from contrib.browser import WIDTH, Browser, contrast
from contrib.conftest import ROOT, Running, running
from PIL import Image
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import seconder

IMAGES = ROOT / "docs" / "images"
SHOTS = ["second", "sms", "authenticator", "push", "phone", "home", "dark"]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Running]:
    with running("flask_app", tmp_path) as site:
        yield site


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
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
        f"--user-data-dir={tmp_path_factory.mktemp('chromium')}",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with Chrome(options=options, service=ChromeService(driver)) as chrome:
        chrome.set_page_load_timeout(60)
        chrome.set_window_size(WIDTH, 800)
        yield chrome


@pytest.fixture
def browser(chromium: Chrome, site: Running) -> Iterator[Browser]:
    yield Browser(chromium, site.url)
    chromium.delete_all_cookies()
    # A test that failed may have left a second window, and may have switched off scripts.
    first, *others = chromium.window_handles
    for window in others:
        chromium.switch_to.window(window)
        chromium.close()
    chromium.switch_to.window(first)
    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    driver: Any = chromium
    driver.get_log("browser")


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


def approve(browser: Browser, number: str) -> str:
    browser.shoot("phone")
    browser.look("phone")
    wrong = f"{(int(number) + 1) % 100:02}"
    browser.type("Number on the login page", wrong)
    browser.press("Yes, it is me")
    assert "The number is wrong" in browser.find("[role=alert]").text
    browser.look("phone-wrong")
    browser.type("Number on the login page", number)
    browser.press("Yes, it is me")
    return ""


def counting(browser: Browser) -> tuple[str, int]:
    """Returns the name of the button that counts down, and its seconds."""
    found = re.fullmatch(r"(.*) in (\d+) s", browser.find("button[data-wait]").accessible_name)
    assert found
    return found[1], int(found[2])


def later(browser: Browser, seconds: float) -> None:
    """Sets the clock of the page forward, and stops it: the test need neither wait nor hurry."""
    browser.script(f"const now = performance.now() + {1000 * seconds}; performance.now = () => now")


def test_a_browser_logs_in_by_every_method(browser: Browser, site: Running) -> None:
    browser.go("/")
    to_second_step(browser)
    browser.press("Text me a code")
    browser.heading("Your code")
    field = browser.type("Code", on_the_phone(browser, lambda: sms(browser)))
    assert field.get_attribute("autocomplete") == "one-time-code"
    assert field.get_attribute("inputmode") == "numeric"
    browser.look("code")
    browser.press("Log in")
    browser.heading("Welcome, Ada.")
    browser.look("home-off")

    browser.press("Set up an authenticator app")
    browser.heading("Authenticator app")
    browser.shoot("authenticator")
    browser.look("authenticator")
    uri = scanned(browser)
    assert uri.startswith("otpauth://totp/") and "issuer=Example" in uri
    key = browser.find(".key").text
    assert re.fullmatch(r"[A-Z2-7]{4}(\s[A-Z2-7]{4}){7}", key) and "".join(key.split()) in uri
    browser.type("Code", "12")
    browser.press("Confirm")
    browser.heading("Authenticator app")
    browser.look("authenticator-mistyped")
    assert scanned(browser) == uri and browser.find(".key").text == key
    browser.type("Code", seconder.totp.code(uri))
    browser.press("Confirm")
    browser.heading("Welcome, Ada.")
    browser.press("Approve on my phone")
    browser.heading("Welcome, Ada.")
    browser.press("Create recovery codes")
    browser.heading("Your recovery codes")
    browser.look("recovery")
    browser.press("I have written them down")
    browser.heading("Welcome, Ada.")
    browser.shoot("home")
    browser.look("home")
    browser.press("Log out")

    to_second_step(browser)
    browser.shoot("second")
    browser.look("second")
    browser.press("Ask my phone")
    browser.heading("Look at your phone")
    browser.shoot("push")
    browser.look("push")
    number = browser.find(".match").text
    assert f"Type {number} on your phone." in browser.find("[role=status]").text
    on_the_phone(browser, lambda: approve(browser, number))
    browser.heading("Welcome, Ada.")
    assert "approved by user" in site.log.read_text(), "there was no callback"
    browser.press("Log out")

    to_second_step(browser)
    browser.press("Use my authenticator app")
    browser.heading("Your code")
    browser.type("Code", "123456")
    browser.press("Log in")
    browser.wait(lambda driver: driver.find_elements(By.CSS_SELECTOR, "[role=alert]"))
    browser.look("code-wrong")
    # After four wrong codes the service makes the user wait, longer each time.
    while not browser.driver.find_elements(By.CSS_SELECTOR, "button[data-wait]"):
        browser.type("Code", "123456")
        browser.press("Log in")
        browser.heading("Your code")
    assert "Too many attempts" in browser.find("[role=alert]").text
    assert browser.find("button[data-wait]").get_attribute("data-waiting") == "Try again"
    browser.look("code-limit")
    while browser.find("h1").text == "Your code":
        later(browser, 1000)
        browser.type("Code", seconder.totp.code(uri, time.time() + 30))
        browser.press("Log in")
    browser.heading("Welcome, Ada.")
    assert browser.complaints() == []


def test_a_counter_shows_when_a_code_can_be_sent_again(browser: Browser) -> None:
    browser.go("/login")
    to_second_step(browser)
    browser.press("Text me a code")
    # The service sends again after 30 s, which a busy machine may have spent.
    while not browser.driver.find_elements(By.CSS_SELECTOR, "button[data-wait]"):
        browser.press("Send again")
    later(browser, 0)
    name, left = counting(browser)
    assert name == "Send again" and 0 < left <= 30
    assert not browser.find("button[data-wait]").is_enabled()
    assert not browser.driver.find_elements(By.CSS_SELECTOR, "[role=alert]")
    browser.shoot("sms")
    browser.shoot("dark", "dark")
    # A script cannot keep a visitor from asking too early, in another window for example.
    early = "document.querySelector('form[action=\"/second/sms\"]').submit()"
    while not browser.driver.find_elements(By.CSS_SELECTOR, "[role=alert]"):
        browser.leave(lambda: browser.script(early))
    later(browser, 0)
    name, left = counting(browser)
    assert name == "Send again" and 0 < left <= 30
    # The button has the seconds, so the text next to it does not repeat them.
    assert browser.find("[role=alert]").text == "A code was sent already."
    browser.look("code-again")
    later(browser, left - 0.5)
    browser.wait(lambda _: counting(browser)[1] == 1)
    later(browser, 30)
    assert browser.pressable("Send again").is_enabled()
    assert "Send again" in (browser.find("[role=status]").get_attribute("textContent") or "")
    browser.type("Code", on_the_phone(browser, lambda: sms(browser)))
    browser.press("Log in")
    browser.heading("Welcome, Ada.")
    assert browser.complaints() == []


def test_a_user_has_a_browser_remembered(browser: Browser) -> None:
    browser.go("/login")
    to_second_step(browser)
    browser.press("Text me a code")
    box = browser.field("Remember this browser for 30 days")
    assert not box.is_selected()
    box.click()
    browser.type("Code", "123")
    browser.press("Log in")
    browser.look("code-remember")
    assert browser.field("Remember this browser for 30 days").is_selected()
    browser.type("Code", on_the_phone(browser, lambda: sms(browser)))
    browser.press("Log in")
    browser.heading("Welcome, Ada.")
    browser.press("Log out")
    browser.type("Name", "ada")
    browser.type("Password", "correct horse")
    browser.press("Continue")
    browser.heading("Welcome, Ada.")
    assert "You will be asked for a code" in browser.find(".note").text
    browser.look("home-remembered")
    browser.press("Create recovery codes")
    browser.heading("Is it you, Ada?")
    browser.go("/")
    browser.press("Forget all browsers")
    browser.press("Log out")
    to_second_step(browser)
    assert browser.complaints() == []


def test_a_visitor_signs_up(browser: Browser) -> None:
    browser.go("/signup")
    browser.look("signup")
    browser.type("Name", "ada")
    browser.type("Password", "pass word")
    browser.type("E-mail address", "eve@example.com")
    browser.type("Mobile phone number", "555-010-0177")
    browser.press("Send me a code")
    browser.look("signup-wrong")
    name = browser.field("Name")
    assert "name is taken" in browser.find("[role=alert]").text
    assert name.get_attribute("aria-invalid") == "true"
    assert browser.driver.title.startswith("Error: ")
    assert browser.field("Mobile phone number").get_attribute("value") == "555-010-0177"
    name.clear()
    name.send_keys("Eve")
    browser.type("Password", "pass word")
    browser.press("Send me a code")
    browser.heading("Is it your number?")
    browser.look("number")
    browser.type("Code", on_the_phone(browser, lambda: sms(browser)))
    browser.press("Sign up")
    browser.heading("Log in")
    assert "account is ready" in browser.find("[role=status]").text
    browser.look("login-new")
    assert browser.driver.switch_to.active_element == browser.field("Password")
    browser.type("Password", "pass word")
    browser.press("Continue")
    browser.heading("Is it you, Eve?")
    assert browser.complaints() == []


def test_the_keyboard_is_enough(browser: Browser) -> None:
    browser.go("/login")
    browser.look("login")
    browser.keys("ada", Keys.TAB, "wrong")
    browser.leave(lambda: browser.keys(Keys.ENTER))
    browser.look("login-wrong")
    assert browser.field("Name").get_attribute("value") == "ada"
    assert browser.field("Password").get_attribute("value") == ""
    # The focus is on the password, and what is wrong belongs to it.
    assert browser.field("Password").get_attribute("aria-describedby") == "error"
    browser.keys("correct horse")
    assert [browser.tab() for _ in range(3)] == ["Continue", "Sign up", "Open the demo phone"]
    browser.field("Password").send_keys("")
    browser.leave(lambda: browser.keys(Keys.ENTER))
    browser.heading("Is it you, Ada?")
    assert browser.tab() == "Text me a code"
    browser.leave(lambda: browser.keys(Keys.SPACE))
    browser.heading("Your code")
    # A button that counts down cannot have the focus.
    later(browser, 1000)
    browser.pressable("Send again")
    box = "Remember this browser for 30 days"
    assert [browser.tab() for _ in range(4)] == [box, "Log in", "Send again", "Another way"]
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.go("/second/code")
    assert browser.field("Code").is_displayed()


def test_the_contrast_is_that_of_the_guidelines() -> None:
    assert round(contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)"), 2) == 21
    assert round(contrast("rgb(119, 119, 119)", "rgb(255, 255, 255)"), 2) == 4.48


def test_the_screenshots_in_the_documents_exist() -> None:
    text = (ROOT / "docs" / "web.md").read_text()
    for name in SHOTS:
        with Image.open(IMAGES / f"login-{name}.png") as picture:
            assert picture.width == WIDTH
        assert f"images/login-{name}.png" in text
