"""A request is shown and answered, in each browser."""

from __future__ import annotations

import io
import time
from contextlib import suppress
from pathlib import Path

import pytest
from app import App
from conftest import NewApp
from PIL import Image
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from service import NAME, Service, User

ROOT = Path(__file__).resolve().parents[2]
DETAILS = {"Zone": "Bern", "Amount": "9.50 CHF", "Device": "Firefox on Linux"}


def test_a_request_shows_who_asks_what_for_and_for_which_account(
    enrolled: App, user: User
) -> None:
    enrolled.show(user.ask("Log in to the shop?", DETAILS))
    assert NAME in enrolled.phone.see("h1")
    assert enrolled.phone.see("#message") == "Log in to the shop?"
    rows = "return [...document.querySelectorAll('#details > *')].map((row) => row.innerText.trim())"
    assert [tuple(row.split("\n")) for row in enrolled.phone.script(rows)] == list(DETAILS.items())
    account = enrolled.phone.see("#account")
    assert account.endswith("@example.com") and "*" in account and "ada" not in account
    left = enrolled.phone.see("#left")
    assert left[0] in "19" and ":" in left, "ten minutes are left"


@pytest.mark.parametrize(
    ("response", "result", "status"),
    [("approve", "approved", "approved"), ("deny", "denied", "denied"), ("report", "reported", "denied")],
)
def test_a_response_reaches_the_application(
    enrolled: App, user: User, response: str, result: str, status: str
) -> None:
    request = user.ask()
    enrolled.show(request)
    enrolled.respond(response)
    assert enrolled.result() == result
    assert request.status == status
    assert request.called_back() == [status]
    enrolled.phone.press("#close")
    enrolled.go("history")
    script = "return [...document.querySelectorAll('[data-status]')].map((one) => one.dataset.status)"
    assert enrolled.phone.script(script) == [result]


def test_a_report_is_asked_for_once_more(enrolled: App, user: User) -> None:
    request = user.ask()
    enrolled.show(request)
    enrolled.phone.press("#report")
    enrolled.phone.see("#sure")
    assert request.status == "pending"
    enrolled.respond("deny")
    assert enrolled.result() == "denied" and request.called_back() == ["denied"]


def wrong(number: str) -> str:
    return f"{(int(number) + 1) % 10 ** len(number):0{len(number)}}"


@pytest.mark.parametrize("digits", [2, 3, 6])
def test_the_number_on_the_screen_approves(enrolled: App, user: User, digits: int) -> None:
    request = user.ask(number_digits=digits)
    assert len(request.number) == digits
    enrolled.show(request)
    enrolled.respond("approve", request.number)
    assert enrolled.result() == "approved" and request.status == "approved"


def test_a_wrong_number_can_be_corrected_once(enrolled: App, user: User) -> None:
    request = user.ask(number_digits=2)
    enrolled.show(request)
    enrolled.respond("approve", wrong(request.number))
    assert enrolled.problem() and request.status == "pending"
    enrolled.respond("approve", request.number)
    assert enrolled.result() == "approved" and request.status == "approved"


def test_the_second_wrong_number_denies(enrolled: App, user: User) -> None:
    request = user.ask(number_digits=2)
    enrolled.show(request)
    enrolled.respond("approve", wrong(request.number))
    assert enrolled.problem()
    enrolled.respond("approve", wrong(wrong(request.number)))
    assert enrolled.result() == "flagged" and request.status == "denied"
    assert request.called_back() == ["denied"]


def test_no_number_is_needed_to_deny(enrolled: App, user: User) -> None:
    request = user.ask(number_digits=6)
    enrolled.show(request)
    enrolled.respond("deny")
    assert enrolled.result() == "denied" and request.status == "denied"


def test_the_first_of_two_phones_decides(new_app: NewApp, user: User) -> None:
    apps = new_app(), new_app()
    for app in apps:
        app.enrol(user)
    request = user.ask()
    for app in apps:
        app.show(request)
        app.phone.see("#deny")
    first, second = apps
    first.phone.click("#approve")
    # On a busy machine, the second phone may have noticed already, and the button is gone.
    with suppress(NoSuchElementException, StaleElementReferenceException):
        second.phone.click("#deny")
    results = {first.result(), second.result()}
    decided = request.status
    assert decided in ("approved", "denied")
    assert results == {decided, f"other_{decided}"}
    assert request.called_back() == [decided]
    # Whoever is late with a phone that did not notice changes nothing.
    request = user.ask()
    for app in apps:
        app.phone.press("#close")
        app.show(request)
    first.respond("approve")
    assert first.result() == "approved"
    assert second.result() == "other_approved"


def test_a_request_that_is_over_says_how_it_ended(enrolled: App, user: User) -> None:
    late = user.ask(seconds_to_expire=7)
    # Not by the list, which may have it after 3 s only: a busy machine may need the rest of the time.
    enrolled.phone.script("location.hash = arguments[0]", late.fragment)
    assert enrolled.result() == "expired"
    # The two clocks may differ by a part of a second.
    enrolled.phone.wait(lambda: late.status == "expired", "the service")
    enrolled.open(late.fragment)
    assert enrolled.result() == "expired"


def test_a_request_of_somebody_else_is_not_shown(
    enrolled: App, service: Service
) -> None:
    enrolled.open(service.add_user().ask("Whose is it?").fragment)
    enrolled.phone.wait(lambda: enrolled.screen() in ("result", "search"), "an answer")
    assert "Whose is it?" not in enrolled.phone.see("main")


def test_a_notification_leads_to_the_request(enrolled: App, user: User) -> None:
    request = user.ask()
    enrolled.open(request.fragment)
    enrolled.on("request")
    enrolled.respond("approve")
    assert enrolled.result() == "approved"


FAIL = """
  const [ends] = arguments;
  window.real ??= window.fetch;
  window.fetch = (path, ...rest) => (ends && path.startsWith("api/") && path.endsWith(ends)
    ? Promise.resolve(new Response("{}", { status: 503, headers: { Date: new Date().toUTCString() } }))
    : window.real(path, ...rest));
"""
"""Has the service be busy when it is asked for something that ends like this; for nothing if it is null."""


def test_a_notification_leads_to_the_request_while_the_list_cannot_be_had(
    enrolled: App, user: User
) -> None:
    request = user.ask()
    enrolled.phone.script(FAIL, "requests")
    enrolled.phone.script("location.hash = arguments[0]", request.fragment)
    enrolled.on("request")
    # The message about the list moves the buttons, which ignore a press then.
    enrolled.phone.see("#trouble:not(:empty)")
    enrolled.settle()
    enrolled.respond("approve")
    assert enrolled.result() == "approved" and request.status == "approved"


def test_a_notification_that_was_opened_offline_leads_to_the_request_later(
    enrolled: App, user: User
) -> None:
    enrolled.phone.script(FAIL, "")
    enrolled.phone.script("window.fetch = () => Promise.reject(new TypeError())")
    request = user.ask()
    enrolled.phone.script("location.hash = arguments[0]", request.fragment)
    assert enrolled.problem()
    enrolled.phone.script(FAIL, None)
    enrolled.on("request")


def test_a_request_on_a_phone_that_is_removed_says_that_it_was_removed(
    enrolled: App, user: User
) -> None:
    enrolled.show(user.ask())
    user.remove_devices()
    assert enrolled.result() == "removed"


def test_a_click_meant_for_what_was_there_before_does_nothing(enrolled: App, user: User) -> None:
    request = user.ask()
    enrolled.phone.see(f"a[href='#r={request.uuid}']")
    clicked = """
      const [uuid, name] = arguments;
      location.hash = `#r=${uuid}`;
      let button;
      while (!(button = document.querySelector(name))) await new Promise(requestAnimationFrame);
      const start = performance.now();
      // Nobody clicks on what was not drawn yet. The app holds the buttons again when it draws them.
      await new Promise(setTimeout);
      while (performance.now() - start < 450) {
        button.click();
        await new Promise(requestAnimationFrame);
      }
      return document.body.dataset.screen;
    """
    for button in ("#approve", "#deny", "#sure"):
        assert enrolled.phone.script(clicked, request.uuid, button) == "request"
        enrolled.phone.press("#back")
        enrolled.on("requests")
    assert request.status == "pending"


def test_what_an_application_sends_stays_text(enrolled: App, user: User) -> None:
    message = "<b onclick=x>Bold</b> https://evil.example\u202eneves\u202c &amp;"
    enrolled.show(user.ask(message, {"<i>Zone</i>": "a\u200bb\u2066c"}))
    drawn = message.replace("\u202e", "⟨U+202E⟩").replace("\u202c", "⟨U+202C⟩")
    assert enrolled.phone.see("#message") == drawn
    assert enrolled.phone.see("#details dt") == "<i>Zone</i>"
    assert enrolled.phone.see("#details dd") == "a⟨U+200B⟩b⟨U+2066⟩c"
    script = """
      const quoted = document.querySelectorAll(":is(#message, #details) *");
      return [...new Set([...quoted].map((one) => one.localName))].sort();
    """
    assert enrolled.phone.script(script) == ["bdi", "dd", "div", "dt", "span"]


ODD = """
  const file = performance.getEntriesByType("resource").find(({ name }) => /page[.][^/]*js$/.test(name));
  const { ODD } = await import(file.name);
  const ranges = [];
  for (let code = 0; code <= 0x10ffff; code += 1) {
    if (!ODD.test(String.fromCodePoint(code))) continue;
    if (ranges.at(-1)?.[1] === code - 1) ranges.at(-1)[1] = code;
    else ranges.push([code, code]);
  }
  return ranges;
"""
"""The characters of which the page shows the code, as ranges."""


def test_the_page_finds_the_same_characters_misleading_as_the_engine(app: App) -> None:
    app.open()
    app.on("welcome")
    lines = (ROOT / "tests" / "vectors" / "misleading.txt").read_text().splitlines()
    ranges = [line.split("-") for line in lines if not line.startswith("#")]
    wanted = [[int(one[0], 16), int(one[-1], 16)] for one in ranges]
    assert app.phone.script(ODD) == wanted


def picture() -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (96, 48), "navy").save(content, "PNG")
    return content.getvalue()


def test_the_picture_of_the_application_is_shown_as_the_service_keeps_it(
    enrolled: App, service: Service, user: User
) -> None:
    # It would be fetched from the Internet alone, so it is put where the service keeps those that it has fetched.
    url = "https://app.example/logo.png"
    service.keep_logo(url, "image/png", picture())
    enrolled.show(user.ask(logo=url))
    drawn = "const { naturalWidth, alt } = document.querySelector('.logo img'); return [naturalWidth, alt];"
    assert enrolled.phone.wait(lambda: enrolled.phone.script(drawn), "the picture") == [96, ""]
    asked = """
      return performance.getEntriesByType("resource").map((one) => one.name).filter((name) => /logo/.test(name));
    """
    request = f"{service.base}api/requests/"
    assert all(name.startswith(request) for name in enrolled.phone.script(asked))


def test_without_the_picture_the_initial_of_the_application_stays(
    enrolled: App, service: Service, user: User
) -> None:
    # Nobody may serve a picture on this machine.
    enrolled.show(user.ask(logo="https://127.0.0.1:9/logo.png"))
    enrolled.phone.see("#approve")
    assert enrolled.phone.see(".logo").strip() == NAME[0]


def test_a_detail_without_a_name_or_a_value_stays_one(enrolled: App, user: User) -> None:
    enrolled.show(user.ask("Log in?", {"Zone": "", "": "9.50 CHF", "Device": "Firefox"}))
    enrolled.phone.see("#details dt")
    script = """
      return [...document.querySelectorAll("#details > *")]
        .map((row) => [...row.children].map((one) => [one.localName, one.innerText]));
    """
    assert enrolled.phone.script(script) == [
        [["dt", name], ["dd", value]]
        for name, value in [("Zone", ""), ("", "9.50 CHF"), ("Device", "Firefox")]
    ]


def test_a_long_request_leaves_the_buttons_in_sight(enrolled: App, user: User) -> None:
    enrolled.show(user.ask("x" * 200, {f"Detail {n}": "word " * 30 for n in range(12)}))
    script = "return document.querySelector('#report').getBoundingClientRect().bottom <= innerHeight"
    enrolled.phone.see("#report")
    assert enrolled.phone.script(script)


def test_a_hidden_page_does_not_poll(enrolled: App, user: User) -> None:
    count = """
      const { fetch } = window;
      window.polls = 0;
      window.fetch = (path, ...rest) => {
        if (/api.requests$/.test(path)) window.polls += 1;
        return fetch(path, ...rest);
      };
    """
    polls = "return window.polls"
    hide = """
      Object.defineProperty(document, "hidden", {configurable: true, get: () => arguments[0]});
      document.dispatchEvent(new Event("visibilitychange"));
    """
    enrolled.phone.script(hide, True)
    # A poll that has begun does not count, however long it takes.
    time.sleep(1)
    enrolled.phone.script(count)
    request = user.ask()
    time.sleep(4)
    assert enrolled.phone.script(polls) == 0
    enrolled.phone.script(hide, False)
    enrolled.show(request)
    assert enrolled.phone.script(polls) > 0
