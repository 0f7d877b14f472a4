"""The approver on a phone: the one place that knows its screens and elements."""

from __future__ import annotations

import re
from typing import Any

from phone import Phone
from service import Request, Service, User


class App:
    """The app of a person who has a phone."""

    def __init__(self, phone: Phone, service: Service) -> None:
        self.phone, self.service = phone, service

    def open(self, fragment: str = "") -> None:
        self.phone.open(self.service.base + fragment)

    def on(self, screen: str) -> None:
        """Waits for a screen."""
        self.phone.wait(lambda: self.screen() == screen, f"the screen {screen}")

    def screen(self) -> Any:
        return self.phone.script("return document.body.dataset.screen")

    def go(self, screen: str) -> None:
        """Goes to one of the main screens."""
        self.phone.press(f"nav a[href='#{screen}']")
        self.on(screen)

    def enrol(self, user: User, *, notifications: bool | None = None) -> None:
        """Registers the phone by the link of an invitation. Its user allows notifications, or refuses
        them when the browser asks, or by default will not be asked now."""
        self.phone.open(user.invite().link)
        self.register(notifications=notifications)

    def register(self, code: str | None = None, *, notifications: bool | None = None) -> None:
        """Goes from the first screen to the list of requests. A link fills in the code itself."""
        self.on("welcome")
        self.phone.press("#start")
        self.on("code")
        if code is not None:
            self.phone.fill("#code-field", code)
        self.phone.press("#next")
        self.on("name")
        self.phone.fill("#name-field", "Ada's phone")
        self.phone.press("#add")
        self.phone.wait(lambda: self.screen() in ("notifications", "done"), "the end")
        if self.screen() == "notifications":
            if notifications is None:
                self.phone.press("#later")
            else:
                self.phone.permit(self.service.origin, notifications)
                self.phone.press("#allow")
        self.on("done")
        self.phone.press("#finish")
        self.on("requests")

    def add_account(self, user: User) -> None:
        """Registers the phone for another account, and goes back to the list of requests."""
        self.go("settings")
        self.phone.press("#add-account")
        self.phone.fill("#code-field", user.invite().code)
        self.phone.press("#next")
        self.phone.press("#add")
        self.phone.wait(lambda: self.screen() in ("notifications", "done"), "the end")
        self.open("#requests")
        self.on("requests")

    def show(self, request: Request) -> None:
        """Waits until the request is in the list, and opens it."""
        self.on("requests")
        self.phone.press(f"a[href='#r={request.uuid}']")
        self.on("request")

    def settle(self) -> None:
        """Waits until the page was drawn: buttons that have moved are disabled from then on, for a while."""
        drawn = "requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = true; }));"
        self.phone.script(f"window.drawn = false; {drawn}")
        self.phone.wait(lambda: self.phone.script("return window.drawn"), "a picture")

    def respond(self, response: str, number: str = "") -> None:
        """Presses a button of the request, once that is possible: approve, deny or report."""
        if number:
            self.phone.fill("#number", number)
        self.phone.press(f"#{response}")
        if response == "report":
            self.phone.press("#sure")

    def result(self) -> str:
        """Waits until the request is decided, and returns how."""
        self.on("result")
        return str(self.phone.script("return document.querySelector('[data-result]').dataset.result"))

    def problem(self) -> str:
        """Waits for a message about what is wrong."""
        return self.phone.see("[role=alert]:not([hidden])")

    def code(self) -> str:
        """The code that the phone shows."""
        self.go("codes")
        script = "return document.querySelector('.digits')?.textContent ?? ''"
        found = self.phone.wait(
            lambda: re.fullmatch(r"\d{6,8}", self.phone.script(script)), "a code"
        )
        return found[0]

    def reload(self) -> None:
        """Starts the app again."""
        self.phone.script("window.before = true")
        self.phone.script("setTimeout(() => location.reload())")
        ready = "return !window.before && Boolean(document.body.dataset.screen)"
        self.phone.wait(lambda: self.phone.script(ready), "the app after a reload")
