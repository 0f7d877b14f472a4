"""A real Chromium, the actions of a user in it, and how its pages look."""

from __future__ import annotations

import base64
import io
import itertools
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

WIDTH = 460
"""The width of the pictures in the documents, in pixels."""
REVIEW = os.environ.get("REVIEW")
"""The folder for pictures of all pages in several widths, light and dark, for people to look at."""

TEXTS = """
const back = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (!/, 0\\)$/.test(colour)) return colour;
  }
};
const found = [];
const add = (element, text) => {
  if (text && element.checkVisibility() && !element.closest("script, .unseen"))
    found.push([text, getComputedStyle(element).color, back(element)]);
};
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) add(walk.currentNode.parentElement, walk.currentNode.data.trim());
for (const input of document.querySelectorAll("input:not([type=hidden])")) {
  add(input, input.value || input.name);
  found.push([null, getComputedStyle(input).borderTopColor, back(input.parentElement)]);
}
return found;
"""
"""Returns each text with its colour and its background's. Borders of fields have no text."""
WIDE = """
const limit = document.documentElement.clientWidth;
return [...document.querySelectorAll("body *")]
  .filter((one) => !one.closest(".unseen") && one.getBoundingClientRect().right > limit + 0.5)
  .map((one) => one.outerHTML.slice(0, 80))
  .concat(document.documentElement.scrollWidth > limit ? ["the page scrolls sideways"] : []);
"""
"""Returns what does not fit the width of the page."""


@dataclass
class Browser:
    """A Chromium window on the application, and the actions of a user in it."""

    driver: Chrome
    url: str

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def script(self, text: str) -> Any:
        run: Any = self.driver.execute_script
        return run(text)

    def go(self, path: str) -> None:
        self.driver.get(self.url + path)

    def field(self, label: str) -> WebElement:
        """Returns the field with this accessible name."""
        fields = self.driver.find_elements(By.CSS_SELECTOR, "input:not([type=hidden])")
        return next(field for field in fields if field.accessible_name == label)

    def type(self, label: str, text: str) -> WebElement:
        field = self.field(label)
        field.send_keys(text)
        return field

    def pressable(self, name: str) -> WebElement:
        """Waits for the button or link with this accessible name."""

        def named(driver: Chrome) -> list[WebElement]:
            all_of_them = driver.find_elements(By.CSS_SELECTOR, "button:enabled, a")
            return [one for one in all_of_them if one.accessible_name == name]

        self.wait(named)
        return named(self.driver)[0]

    def press(self, name: str) -> None:
        """Presses the button or link with this accessible name, and waits for the next page."""
        self.leave(self.pressable(name).click)

    def keys(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def leave(self, act: Callable[[], object]) -> None:
        """Does what leads to another page, and waits for it."""
        self.script("window.left = true")
        act()
        here = "return window.left !== true && document.readyState === 'complete'"
        self.wait(lambda _: self.script(here))

    def wait(self, until: Callable[[Chrome], object]) -> None:
        # Between two pages, the driver raises many different exceptions.
        WebDriverWait(self.driver, 60, 0.05, [WebDriverException]).until(until)

    def heading(self, text: str) -> None:
        """Waits for the page with this heading."""
        self.wait(lambda driver: driver.find_element(By.TAG_NAME, "h1").text == text)

    def complaints(self) -> list[str]:
        """Returns the browser's log, such as violations of the content security policy."""
        driver: Any = self.driver
        logged = [entry["message"] for entry in driver.get_log("browser")]
        # Chromium logs every response with such a status.
        return [text for text in logged if "the server responded with a status" not in text]

    def device(self, width: int, scheme: str, height: int = 800, zoom: int = 1) -> None:
        """Shows the page as a device with a viewport of this width does."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": zoom, "mobile": False},
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def usual(self) -> None:
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    def picture(self, width: int) -> Image.Image:
        """Takes a picture of the whole page."""
        last = "[...document.querySelectorAll('main, footer')].at(-1)"
        bottom = self.script(f"return {last}.getBoundingClientRect().bottom + scrollY")
        clip = {"x": 0, "y": 0, "width": width, "height": int(bottom) + 24, "scale": 1}
        taken = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
        )
        return Image.open(io.BytesIO(base64.b64decode(taken["data"]))).convert("RGB")

    def shoot(self, name: str, scheme: str = "light") -> None:
        """Takes the picture for the documents, and saves it if ``SCREENSHOTS`` is set."""
        self.device(WIDTH, scheme)
        picture = self.picture(WIDTH)
        self.usual()
        assert picture.width == WIDTH and len(picture.getcolors(2**20) or []) > 50
        if folder := os.environ.get("SCREENSHOTS"):
            Path(folder).mkdir(exist_ok=True)
            small = picture.quantize(256, dither=Image.Dither.NONE)
            small.save(Path(folder) / f"login-{name}.png", optimize=True)

    def look(self, name: str) -> None:
        """Checks that everybody can read the page: at a width of 320 pixels, as on
        a wide screen at 400 %, without scrolling sideways; in light and dark colours."""
        backgrounds = set()
        for scheme in ("light", "dark"):
            # 1280 by 1024 pixels at 400 %.
            self.device(320, scheme, height=256, zoom=4)
            assert self.script(WIDE) == [], name
            texts = self.script(TEXTS)
            assert any(text for text, _, _ in texts)
            for text, colour, back in texts:
                least = 3 if text is None else 4.5
                found = contrast(colour, back)
                assert found >= least, f"{name}, {scheme}: {text!r} has {found:.1f}"
            backgrounds.add(texts[0][2])
        assert len(backgrounds) == 2, "the dark scheme has other colours"
        if REVIEW:
            for width, scheme in itertools.product((320, 390, 1280), ("light", "dark")):
                self.device(width, scheme)
                Path(REVIEW).mkdir(exist_ok=True)
                self.picture(width).save(Path(REVIEW) / f"{name}-{width}-{scheme}.png")
        self.usual()

    def tab(self) -> str:
        """Moves the focus by the keyboard, and returns the accessible name of where it is. The
        focus is visible there."""
        self.keys(Keys.TAB)
        focused = self.driver.switch_to.active_element
        style = self.script(
            "const style = getComputedStyle(document.activeElement);"
            "return [style.outlineStyle, parseFloat(style.outlineWidth), style.outlineColor,"
            " getComputedStyle(document.querySelector('main')).backgroundColor,"
            " getComputedStyle(document.body).backgroundColor]"
        )
        assert style[0] == "solid" and style[1] >= 2, json.dumps(style)
        assert contrast(style[2], style[3]) >= 3 and contrast(style[2], style[4]) >= 3
        return focused.accessible_name


def contrast(colour: str, other: str) -> float:
    """Returns the contrast of two CSS colours, as WCAG 2 defines it: from 1 to 21."""
    lighter, darker = sorted((_luminance(colour), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    found = re.fullmatch(r"rgb\((\d+), (\d+), (\d+)\)", colour)
    assert found, f"{colour} is not opaque"
    shares = [int(part) / 255 for part in found.groups()]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return sum(w * part for w, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
