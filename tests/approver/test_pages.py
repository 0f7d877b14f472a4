"""Everybody can use the pages, and they are small. Chromium has the tools for that.

`make screenshots` takes the pictures of docs/approver.md. With REVIEW=folder in the environment, all screens are
saved there."""

from __future__ import annotations

import io
import itertools
import os
import ssl
from pathlib import Path
from urllib.request import urlopen

import pytest
from app import App
from driven import Chromium
from PIL import Image
from processes import PATIENCE
from selenium.webdriver.common.keys import Keys
from service import Service, User
from tour import tour

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = (320, 390, 1280)
SCHEMES = ("light", "dark")
DOCUMENT = ROOT / "docs" / "approver.md"
SETTLED = """
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
  return !document.querySelector("[aria-disabled]");
"""
"""Buttons that have just moved are inactive for a moment."""
SHOWN = [
    *itertools.product(("welcome", "requests", "request-number", "codes"), (390,), SCHEMES),
    *itertools.product(("request-number",), (320, 1280), SCHEMES),
]
"""The pictures of the document: screen, width and colours."""

BARRIERS = """
  const {violations} = await axe.run({rules: {"target-size": {enabled: true}}});
  return violations.map(({id, nodes}) => `${id}: ${nodes.map(({html}) => html).join(" ")}`);
"""
SMALL = """
  // Links in a sentence are as high as its lines.
  return [...document.querySelectorAll("a[href], button, input, select, summary")]
    .filter((one) => one.checkVisibility() && !one.matches("p a, span a"))
    .filter((one) => { const {width, height} = one.getBoundingClientRect(); return width < 44 || height < 44; })
    .map((one) => one.outerHTML.slice(0, 100));
"""
WIDE = """
  const limit = document.documentElement.clientWidth;
  return [...document.querySelectorAll("body *")]
    .filter((one) => one.checkVisibility() && !one.closest(".unseen"))
    .filter((one) => { const {left, right} = one.getBoundingClientRect(); return right > limit + 0.5 || left < -0.5; })
    .map((one) => one.outerHTML.slice(0, 100))
    .concat(document.documentElement.scrollWidth > limit ? ["the page scrolls sideways"] : []);
"""


@pytest.mark.parametrize("language", ["en", "ar"])
def test_every_screen_is_without_barriers(
    chromium: Chromium, service: Service, user: User, language: str
) -> None:
    source = AXE.read_text()
    chromium.speak(language)
    problems: list[str] = []

    def look(screen: str) -> None:
        direction = chromium.script("return document.dir")
        assert direction == ("rtl" if language == "ar" else "ltr")
        if not chromium.script("return 'axe' in window"):
            chromium.script(source)
        for scheme in SCHEMES:
            chromium.media(prefers_color_scheme=scheme)
            # A wide screen at 400 % is as narrow.
            chromium.resize(320, 640)
            for script in (BARRIERS, SMALL, WIDE):
                problems.extend(f"{screen}, {scheme}: {one}" for one in chromium.script(script))
        shoot(chromium, f"{screen}-{language}" if language != "en" else screen)

    tour(chromium, service, user, look)
    assert problems == []


def test_the_keyboard_is_enough(chromium: Chromium, service: Service, user: User) -> None:
    app = App(chromium, service)
    chromium.open(user.invite().link)
    for screen, button in (
        ("welcome", "#start"),
        ("code", "#next"),
        ("name", "#add"),
        ("notifications", "#later"),
        ("done", "#finish"),
    ):
        app.on(screen)
        tab_to(chromium, button)
        chromium.keys(Keys.ENTER)
    app.on("requests")
    request = user.ask(number_digits=2)
    link = f"a[href='#r={request.uuid}']"
    chromium.see(link)
    tab_to(chromium, link)
    chromium.keys(Keys.ENTER)
    app.on("request")
    tab_to(chromium, "#number")
    chromium.keys(request.number)
    chromium.see("#approve")
    chromium.keys(Keys.ENTER)
    assert app.result() == "approved" and request.status == "approved"


def tab_to(chromium: Chromium, selector: str) -> None:
    """Presses Tab until the element has the focus, which is visible all the way."""
    script = """
      const {outlineStyle, outlineWidth} = getComputedStyle(document.activeElement);
      return [document.activeElement.matches(arguments[0]), outlineStyle, parseFloat(outlineWidth),
        document.activeElement.outerHTML];
    """
    for _ in range(30):
        chromium.keys(Keys.TAB)
        found, style, width, element = chromium.script(script, selector)
        assert style in ("solid", "auto") and width >= 2, element
        if found:
            return
    raise AssertionError(f"{selector} cannot be reached by the keyboard")


def test_forced_colours_leave_the_buttons_visible(
    chromium: Chromium, service: Service, user: User
) -> None:
    chromium.media(forced_colors="active")
    app = App(chromium, service)
    app.enrol(user)
    app.show(user.ask())
    chromium.see("#approve")
    script = """
      return [...document.querySelectorAll("button")].filter((one) => one.checkVisibility())
        .filter((one) => getComputedStyle(one).borderTopStyle === "none").map((one) => one.id);
    """
    assert chromium.script(script) == []


def test_nothing_moves_if_that_is_asked_for(
    chromium: Chromium, service: Service, user: User
) -> None:
    chromium.media(prefers_reduced_motion="reduce")
    app = App(chromium, service)
    app.enrol(user)
    app.show(user.ask())
    script = """
      const moves = ({transitionDuration, animationName, animationDuration}) =>
        parseFloat(transitionDuration) > 0.01
        || (animationName !== "none" && parseFloat(animationDuration) > 0.01);
      return [...document.querySelectorAll("*")].filter((one) => moves(getComputedStyle(one)))
        .map((one) => one.outerHTML.slice(0, 100));
    """
    assert chromium.script(script) == []


def test_the_first_load_is_small_and_from_here_alone(chromium: Chromium, service: Service) -> None:
    App(chromium, service).open()
    chromium.see("#start")
    script = """
      return [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
        .map(({name, decodedBodySize}) => [name, decodedBodySize]);
    """
    loaded: list[tuple[str, int]] = chromium.script(script)
    assert {name.startswith(service.base) for name, _ in loaded} == {True}
    sizes = {name.removeprefix(service.base): size for name, size in loaded}
    assert all(size > 0 for size in sizes.values()), sizes
    assert sum(sizes.values()) <= 60_000, sizes
    assert sum(size for name, size in sizes.items() if name.endswith(".js")) <= 30_000, sizes


def test_the_app_can_be_installed(chromium: Chromium, service: Service, user: User) -> None:
    App(chromium, service).enrol(user)
    assert chromium.cdp("Page.getInstallabilityErrors")["installabilityErrors"] == []
    assert chromium.cdp("Page.getAppId")["appId"] == service.base


def test_the_page_may_load_and_be_loaded_by_nothing_else(service: Service) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with urlopen(service.base, context=context, timeout=PATIENCE) as reply:
        headers = reply.headers
    policy = headers["Content-Security-Policy"]
    directives = {words[0]: set(words[1:]) for words in map(str.split, policy.split(";"))}
    assert directives["default-src"] == directives["frame-ancestors"] == {"'none'"}
    assert directives["require-trusted-types-for"] == {"'script'"}
    sources = set().union(*(directives[name] for name in directives if name.endswith("-src")))
    assert sources <= {"'none'", "'self'", "blob:"}
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff"


def shoot(chromium: Chromium, name: str) -> None:
    for width, scheme in itertools.product(WIDTHS, SCHEMES):
        variables = ("REVIEW", "SCREENSHOTS")[: 1 + ((name, width, scheme) in SHOWN)]
        folders = [Path(os.environ[one]) for one in variables if os.environ.get(one)]
        if not folders:
            continue
        chromium.media(prefers_color_scheme=scheme)
        chromium.resize(width, 844)
        chromium.wait(lambda: chromium.script(SETTLED), "active buttons")
        with Image.open(io.BytesIO(chromium.picture())) as picture:
            small = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        for folder in folders:
            folder.mkdir(exist_ok=True)
            small.save(folder / f"approver-{name}-{width}-{scheme}.png", optimize=True)


def test_the_document_shows_the_screens() -> None:
    text = DOCUMENT.read_text()
    pictures = [f"images/approver-{name}-{width}-{scheme}.png" for name, width, scheme in SHOWN]
    assert [name for name in pictures if f"]({name})" not in text] == []
    assert sum((DOCUMENT.parent / name).stat().st_size for name in pictures) <= 600_000
