"""Every screen of the app in Chromium, one after the other."""

from __future__ import annotations

from collections.abc import Callable

from app import App
from driven import Chromium
from service import Service, User

Look = Callable[[str], None]
DETAILS = {"Location": "Bern, Switzerland", "Device": "Firefox on Linux", "Address": "192.0.2.7"}


def tour(chromium: Chromium, service: Service, user: User, look: Look) -> None:
    """Enrols a phone and answers requests, and looks at each screen by its name."""
    app = App(chromium, service)
    enrolment(app, user, look)
    app.on("requests")
    look("requests-empty")
    answers(app, user, look)
    for screen in ("history", "codes", "settings"):
        app.go(screen)
        chromium.see("h1")
        look(screen)
    chromium.press("#show-devices")
    chromium.see(".ask summary")
    look("devices")
    chromium.press(".ask summary")
    chromium.see("[data-do=remove]")
    look("remove")
    app.go("codes")
    user.remove_devices()
    app.go("requests")
    chromium.see(".notice.bad")
    look("removed")


def enrolment(app: App, user: User, look: Look) -> None:
    phone = app.phone
    app.open()
    app.on("welcome")
    look("welcome")
    app.open("#install")
    app.on("install")
    look("install")
    app.open("#nokeys")
    app.on("nokeys")
    look("nokeys")
    phone.open(user.invite().link)
    phone.press("#start")
    app.on("code")
    look("code")
    phone.fill("#code-field", "ABCDE")
    phone.press("#next")
    app.problem()
    look("code-wrong")
    phone.open(user.invite().link)
    phone.press("#start")
    phone.press("#next")
    app.on("name")
    look("name")
    phone.press("#add")
    app.on("notifications")
    look("notifications")
    phone.press("#later")
    app.on("done")
    look("done")
    phone.press("#finish")


def answers(app: App, user: User, look: Look) -> None:
    phone = app.phone
    approve, deny = user.ask("Pay 24.50 CHF to Kiosk Bern?"), user.ask(details=DETAILS, number_digits=3)
    phone.see(f"a[href='#r={deny.uuid}']")
    look("requests")
    app.show(approve)
    phone.see("#approve")
    look("request")
    app.respond("approve")
    app.result()
    look("approved")
    phone.press("#close")
    app.show(deny)
    phone.see("#approve")
    look("request-number")
    app.respond("approve", wrong(deny.number))
    app.problem()
    look("request-number-wrong")
    app.respond("deny")
    app.result()
    look("denied")
    phone.press("#close")
    report = user.ask()
    app.show(report)
    app.respond("report")
    app.result()
    look("reported")
    phone.press("#close")


def wrong(number: str) -> str:
    """Another number with as many digits."""
    return f"{(int(number) + 1) % 10 ** len(number):0{len(number)}}"
