"""A phone becomes one of the user's, in each browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app import App
from conftest import NewApp
from driven import Chromium
from phone import Phone
from push_service import PushService
from service import Service, User

IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1"


def test_a_link_enrols_a_phone_and_is_in_no_address_afterwards(app: App, user: User) -> None:
    invitation = user.invite()
    assert invitation.link == f"{app.service.base}#{invitation.code}"
    app.phone.open(invitation.link)
    app.on("welcome")
    address = app.phone.script("return location.href")
    assert address == f"{app.service.base}#welcome"
    # To open a link uses nothing up: messengers do, to show what is behind it.
    app.phone.open(invitation.link)
    app.register()
    app.show(user.ask())


def test_a_typed_code_enrols_a_phone_however_it_is_written(app: App, user: User) -> None:
    app.open()
    code = user.invite().code.lower().replace("-", " ").replace("0", "o").replace("1", "l")
    app.register(code)
    app.show(user.ask())


def test_an_invitation_is_for_one_phone(new_app: NewApp, user: User) -> None:
    invitation = user.invite()
    first, second = new_app(), new_app()
    first.open()
    first.register(invitation.code)
    second.phone.open(invitation.link)
    second.phone.press("#start")
    second.phone.press("#next")
    second.phone.press("#add")
    second.on("code")
    assert "already" in second.problem()


def test_a_guessed_code_is_rejected_and_can_be_corrected(app: App, user: User) -> None:
    app.open()
    app.phone.press("#start")
    app.phone.fill("#code-field", "ABCDE")
    app.phone.press("#next")
    assert app.problem() and app.screen() == "code"
    app.phone.fill("#code-field", "ABCDE-FGHJK")
    app.phone.press("#next")
    app.phone.press("#add")
    app.on("code")
    assert app.problem()
    app.phone.fill("#code-field", user.invite().code)
    app.phone.press("#next")
    app.phone.press("#add")
    app.phone.wait(lambda: app.screen() in ("notifications", "done"), "the end")


def test_the_account_is_still_there_when_the_app_starts_again(enrolled: App, user: User) -> None:
    enrolled.reload()
    request = user.ask()
    enrolled.show(request)
    enrolled.respond("approve")
    assert enrolled.result() == "approved" and request.status == "approved"


def test_a_browser_that_keeps_no_keys_is_not_enrolled(app: App, user: User) -> None:
    invitation = user.invite()
    app.phone.open(invitation.link)
    app.phone.press("#start")
    app.phone.press("#next")
    app.on("name")
    # As in the private windows and the Lockdown Mode of Safari.
    app.phone.script(
        "window.put = IDBObjectStore.prototype.put;"
        "IDBObjectStore.prototype.put = () => { throw new DOMException('', 'DataCloneError'); }"
    )
    app.phone.press("#add")
    app.on("nokeys")
    app.phone.script("IDBObjectStore.prototype.put = window.put")
    app.open()
    app.register(invitation.code)


def test_refused_notifications_leave_an_app_that_polls(app: App, user: User) -> None:
    app.enrol(user, notifications=False)
    request = user.ask()
    app.show(request)
    app.respond("approve")
    assert app.result() == "approved" and not request.notified
    app.phone.press("#close")
    app.go("settings")
    wanted = "denied" if app.phone.pushes else "unsupported"
    assert app.phone.script("return document.querySelector('#push').dataset.push") == wanted


def test_one_app_has_several_accounts(enrolled: App, service: Service, user: User) -> None:
    other = service.add_user()
    enrolled.add_account(other)
    for asked in (user.ask(), other.ask()):
        enrolled.show(asked)
        enrolled.respond("deny")
        assert enrolled.result() == "denied" and asked.status == "denied"
        enrolled.phone.press("#close")


POLLED = "return performance.getEntriesByType('resource').filter((one) => /api.requests$/.test(one.name)).length"
HISTORY = "return [...document.querySelectorAll('[data-status]')].map((one) => one.dataset.status)"
"""What became of the requests, the latest first."""


def poll_twice(app: App) -> None:
    """Waits until each of two accounts has got its list."""
    before = app.phone.script(POLLED)
    app.phone.wait(lambda: app.phone.script(POLLED) > before + 2, "another poll")


def test_a_user_with_two_accounts_in_one_app_is_asked_once(enrolled: App, user: User) -> None:
    enrolled.add_account(user)
    enrolled.go("codes")
    assert enrolled.phone.script("return document.querySelectorAll('.digits').length") == 2
    enrolled.go("requests")
    for response, status in (("approve", "approved"), ("deny", "denied")):
        request = user.ask()
        link = f"a[href='#r={request.uuid}']"
        enrolled.phone.see(link)
        poll_twice(enrolled)
        count = "return document.querySelectorAll(arguments[0]).length"
        assert enrolled.phone.script(count, "main a[href^='#r=']") == 1
        enrolled.show(request)
        enrolled.respond(response)
        assert enrolled.result() == status and request.status == status
        assert request.called_back() == [status]
        enrolled.phone.press("#close")
        enrolled.on("requests")
        assert enrolled.phone.script(count, link) == 0
    enrolled.go("history")
    assert enrolled.phone.script(HISTORY) == ["denied", "approved"]


def test_the_other_account_of_a_user_stays_when_one_is_removed(enrolled: App, user: User) -> None:
    enrolled.add_account(user)
    request = user.ask()
    enrolled.phone.see(f"a[href='#r={request.uuid}']")
    enrolled.go("settings")
    enrolled.phone.press("#show-devices")
    enrolled.phone.press(".ask summary")
    # The page says what it has done, once it has done all it does with the reply.
    said = "return document.getElementById('status').textContent"
    before = enrolled.phone.script(said)
    enrolled.phone.press("[data-do=remove]")
    enrolled.phone.wait(lambda: enrolled.phone.script(said) != before, "the first account to be removed")
    assert len(user.devices()) == 1
    enrolled.open("#requests")
    enrolled.show(request)
    enrolled.respond("approve")
    assert enrolled.result() == "approved" and request.status == "approved"
    enrolled.phone.press("#close")
    enrolled.go("history")
    assert enrolled.phone.script(HISTORY) == ["approved"]


def test_the_history_of_a_user_with_two_accounts_goes_on_without_the_first(new_app: NewApp, user: User) -> None:
    app, other = new_app(), new_app()
    app.enrol(user)
    app.add_account(user)
    other.enrol(user)
    request = user.ask()
    link = f"a[href='#r={request.uuid}']"
    app.phone.see(link)
    poll_twice(app)
    # The application removes the first account, which was the first to know of the request.
    user.remove_devices(1)
    app.phone.see(".notice.bad")
    other.show(request)
    other.respond("deny")
    assert other.result() == "denied"
    gone = "return !document.querySelector(arguments[0])"
    app.phone.wait(lambda: app.phone.script(gone, link), "the list without the request")
    app.go("history")
    assert app.phone.script(HISTORY) == ["denied"]
    app.go("settings")
    app.phone.press("#show-devices")
    app.phone.press("[data-do=leave]")
    left = "return document.querySelectorAll('[data-device]').length === 1"
    app.phone.wait(lambda: app.phone.script(left), "the first account to go")
    app.go("history")
    assert app.phone.script(HISTORY) == ["denied"]
    app.reload()
    app.go("history")
    assert app.phone.script(HISTORY) == ["denied"]


LATE = """
  window.before = window.fetch;
  const held = new Promise((release) => { window.release = release; });
  let first;
  window.fetch = async (path, options) => {
    const reply = await before(path, options);
    if (path !== "api/requests" || reply.status !== 200) return reply;
    const device = options.headers.Authorization.split(",")[0];
    first ??= device;
    if (device === first) return reply;
    // It is read at once, because the page waits for ten seconds only.
    const text = await reply.text();
    window.holding = true;
    await held;
    return new Response(text, reply);
  };
"""
"""Keeps the lists of all accounts back until `release()`, but not those of the first account that gets one."""

RELEASED = """
  const [link] = arguments;
  let shown = false;
  const watch = new MutationObserver(() => { shown ||= Boolean(document.querySelector(link)); });
  watch.observe(document.querySelector("main"), { childList: true, subtree: true });
  // The next poll begins once the page shows what it got by this one.
  const next = new Promise((done) => {
    window.fetch = (...rest) => {
      done();
      return before(...rest);
    };
  });
  release();
  await next;
  return shown;
"""
"""Lets the lists arrive, and returns whether the link was shown before the next poll."""


def test_a_list_that_is_late_does_not_bring_an_answered_request_back(enrolled: App, user: User) -> None:
    enrolled.add_account(user)
    poll_twice(enrolled)
    enrolled.phone.script(LATE)
    # A poll that was under way would bring the request past the script.
    poll_twice(enrolled)
    request = user.ask()
    enrolled.phone.wait(lambda: enrolled.phone.script("return window.holding"), "the list of the other account")
    enrolled.phone.script("location.hash = arguments[0]", request.fragment)
    enrolled.on("request")
    enrolled.respond("approve")
    assert enrolled.result() == "approved" and request.status == "approved"
    enrolled.phone.press("#close")
    enrolled.on("requests")
    link = f"a[href='#r={request.uuid}']"
    assert enrolled.phone.script(RELEASED, link) is False
    enrolled.go("history")
    assert enrolled.phone.script(HISTORY) == ["approved"]


HOLD = """
  const { fetch } = window;
  const held = new Promise((release) => { window.release = release; });
  window.fetch = async (path, options) => {
    const reply = await fetch(path, options);
    if (path === "api/device" && options.method === "POST") await held;
    return reply;
  };
"""
"""Keeps the replies to changes of the device back until `release()`."""


def test_an_account_that_is_removed_while_it_is_changed_does_not_come_back(
    enrolled: App, user: User
) -> None:
    enrolled.go("settings")
    enrolled.phone.script(HOLD)
    enrolled.phone.fill("#name-field", "Another name")
    enrolled.phone.press("#save")
    enrolled.phone.press("#show-devices")
    enrolled.phone.see("[data-device]")
    enrolled.phone.press(".ask summary")
    enrolled.phone.press("[data-do=remove]")
    enrolled.on("welcome")
    # The page says that it has saved the name, once it has done all it does with the reply.
    said = "return document.getElementById('status').textContent"
    before = enrolled.phone.script(said)
    enrolled.phone.script("release()")
    enrolled.phone.wait(lambda: enrolled.phone.script(said) != before, "the name to be saved")
    enrolled.phone.script("history.replaceState(null, '', '#requests')")
    enrolled.reload()
    enrolled.on("welcome")
    assert user.devices() == []


def test_an_app_that_is_removed_here_asks_nothing_any_more(enrolled: App, user: User) -> None:
    enrolled.go("settings")
    enrolled.phone.press("#show-devices")
    enrolled.phone.press(".ask summary")
    enrolled.phone.press("[data-do=remove]")
    enrolled.on("welcome")
    assert user.devices() == []
    enrolled.reload()
    enrolled.on("welcome")


def test_an_app_that_is_removed_by_the_application_says_so(enrolled: App, user: User) -> None:
    user.remove_devices()
    enrolled.phone.see(".notice.bad")
    enrolled.phone.press("nav a[href='#codes']")
    enrolled.on("codes")
    assert not enrolled.phone.script("return document.querySelectorAll('.digits').length")


def test_an_app_that_is_removed_while_it_shows_a_code_hides_it(enrolled: App, user: User) -> None:
    shown = "return document.querySelectorAll('.digits').length"
    enrolled.go("codes")
    assert enrolled.phone.script(shown) == 1
    user.remove_devices()
    enrolled.phone.wait(lambda: not enrolled.phone.script(shown), "the code to go")
    said = enrolled.phone.script("return document.getElementById('status').textContent")
    assert said.startswith("This device was removed")


def test_the_app_is_called_as_its_operator_says(
    tmp_path: Path, push_service: PushService, new_phone: Callable[[Service], Phone]
) -> None:
    service = Service(tmp_path, push_service.host, "--approver-name=Example Key")
    phone = new_phone(service)
    try:
        app = App(phone, service)
        app.enrol(service.add_user())
        assert phone.see("header").strip() == "Example Key"
        app.go("settings")
        assert phone.script("return document.title").endswith(" · Example Key")
        assert "Example Key keeps a key" in phone.see("main")
    finally:
        phone.close()
        service.close()


WOKEN = """
  const policy = window.trustedTypes?.createPolicy("seconder", { createScriptURL: (url) => url });
  const { installing } = await navigator.serviceWorker.register(policy?.createScriptURL("sw.js") ?? "sw.js");
  while (installing.state === "installing") await new Promise((done) => { setTimeout(done, 50); });
  // A browser may list one without a version, of which the next opening makes all tables.
  return [installing.state, (await indexedDB.databases()).filter(({ version }) => version).length];
"""
"""Installs the worker, and returns what became of it, and how many databases there are."""


def test_a_worker_that_is_woken_before_the_page_leaves_the_database_to_it(
    app: App, user: User
) -> None:
    # The text of the worker is a page of the same origin that runs nothing.
    app.open("sw.js")
    assert app.phone.script(WOKEN) == ["redundant", 0]
    app.enrol(user)
    app.show(user.ask())


def test_an_iphone_is_shown_how_to_install_the_app_and_what_to_type(
    chromium: Chromium, user: User
) -> None:
    chromium.cdp("Emulation.setUserAgentOverride", userAgent=IPHONE, platform="iPhone")
    source = "Object.defineProperty(navigator, 'standalone', {get: () => false})"
    chromium.cdp("Page.addScriptToEvaluateOnNewDocument", source=source)
    invitation = user.invite()
    chromium.open(invitation.link)
    chromium.press("#start")
    assert chromium.see("#invitation") == invitation.code
