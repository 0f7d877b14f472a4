"""Firefox gets real pushes, through the push service of the tests. Chromium's worker is given some."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from app import App
from driven import Chromium
from phone import Phone
from push_service import PushService
from service import NAME, Service, User

SHOWN = """
  await new Promise((resolve) => setTimeout(resolve, 500));
  const {ready} = navigator.serviceWorker;
  return (await (await ready).getNotifications()).map(({title, body, tag}) => [title, body, tag]);
"""
"""Chromium forgets a notification that is asked for before it is on the screen, so there is a pause."""
MENDED = """
  const calls = performance.getEntriesByType("resource").filter(({name}) => /api.device$/.test(name));
  return calls.length >= 2 && calls.every(({responseEnd}) => responseEnd > 0);
"""
"""The app has asked what the service holds, and has sent what it lacks."""


@pytest.fixture
def notified(
    new_firefox: Callable[[Service], Phone],
    push_service: PushService,
    service: Service,
    user: User,
    phones: list[Phone],
) -> App:
    """An app that may show notifications."""
    phones.append(new_firefox(service))
    app = App(phones[-1], service)
    app.enrol(user, notifications=True)
    push_service.pushed.clear()
    push_service.acknowledged.clear()
    push_service.replies.clear()
    return app


def shown(app: App, tag: str) -> list[Any]:
    """Waits for a notification, and returns its title and its text."""

    def found() -> list[Any] | None:
        notifications = app.phone.script(SHOWN)
        return next((one[:2] for one in notifications if one[2] == tag), None)

    return app.phone.wait(found, "a notification")


def test_a_request_becomes_a_notification(
    notified: App, push_service: PushService, user: User
) -> None:
    request = user.ask("A secret message")
    push = push_service.wait(1)
    assert (push.status, push.problem) == (201, "")
    assert 500 < int(push.headers["TTL"]) <= 600
    assert push.headers["Urgency"] == "high"
    assert 0 < len(push.headers["Topic"]) <= 32
    assert b"secret" not in push.body
    # The screen of a phone is seen by others, so it names the application alone.
    assert shown(notified, request.uuid) == [NAME, "asks for your approval"]
    # Both come after the notification, or after the reply to the push.
    notified.phone.wait(lambda: push_service.acknowledged, "an acknowledgement")
    assert push_service.acknowledged == [100]
    notified.phone.wait(lambda: request.notified, "the service to know")


def test_a_notification_goes_when_its_request_is_answered(notified: App, user: User) -> None:
    request = user.ask()
    shown(notified, request.uuid)
    notified.show(request)
    notified.respond("approve")
    assert notified.result() == "approved"
    notified.phone.wait(lambda: notified.phone.script(SHOWN) == [], "no notification")


def test_a_subscription_that_is_gone_is_made_again(
    notified: App, push_service: PushService, user: User
) -> None:
    push_service.forget()
    request = user.ask()
    assert push_service.wait(1).status == 410
    notified.show(request)
    # Nothing more is sent to it.
    other = user.ask()
    notified.open("#requests")
    notified.show(other)
    assert len(push_service.pushed) == 1 and not other.notified
    known = len(push_service.channels)
    notified.reload()
    notified.phone.wait(lambda: len(push_service.channels) > known, "a new subscription")
    notified.phone.wait(lambda: notified.phone.script(MENDED), "the service to know")
    shown(notified, user.ask().uuid)
    assert push_service.pushed[-1].status == 201


@pytest.mark.parametrize("status", [429, 503])
def test_a_push_is_tried_again(
    notified: App, push_service: PushService, user: User, status: int
) -> None:
    push_service.replies.append((status, {"Retry-After": "1"}))
    request = user.ask()
    assert push_service.wait(1).status == status
    assert push_service.wait(2).status == 201
    shown(notified, request.uuid)


def test_another_device_is_announced(
    notified: App, chromium: Chromium, service: Service, user: User
) -> None:
    App(chromium, service).enrol(user)
    notified.phone.wait(
        lambda: [one for one in notified.phone.script(SHOWN) if "device" in one[1]],
        "a notification about the device",
    )


def test_a_copied_database_can_neither_enrol_nor_push(notified: App, user: User) -> None:
    invited = user.invite()
    subscribed = """
      const {pushManager} = await navigator.serviceWorker.ready;
      const {endpoint, keys} = (await pushManager.getSubscription()).toJSON();
      return [endpoint, keys.auth];
    """
    endpoint, auth = notified.phone.script(subscribed)
    user.ask("A question that is shown")
    stored = notified.service.stored()
    assert b"A question that is shown" in stored, "the search finds what is there"
    for secret in (endpoint, auth, invited.code, invited.code.replace("-", "")):
        assert secret.encode() not in stored


@pytest.mark.parametrize("text", ["not JSON", ""])
def test_a_push_that_cannot_be_read_is_shown_too(
    chromium: Chromium, service: Service, user: User, text: str
) -> None:
    chromium.permit(service.origin, True)
    App(chromium, service).enrol(user)
    deliver(chromium, service, text)
    chromium.wait(lambda: len(chromium.script(SHOWN)) == 1, "a notification")


def test_chromium_shows_a_declarative_push(
    chromium: Chromium, service: Service, user: User
) -> None:
    App(chromium, service).enrol(user, notifications=True)
    notification = {"title": NAME, "body": "asks for your approval", "tag": "1", "lang": "en"}
    deliver(chromium, service, json.dumps({"web_push": 8030, "notification": notification}))
    chromium.wait(
        lambda: chromium.script(SHOWN) == [[NAME, "asks for your approval", "1"]], "a notification"
    )


def deliver(chromium: Chromium, service: Service, text: str) -> None:
    # A worker that is still being activated would miss it.
    activated = "return (await navigator.serviceWorker.ready).active.state === 'activated'"
    chromium.wait(lambda: chromium.script(activated), "the worker")
    chromium.cdp("ServiceWorker.enable")
    chromium.cdp(
        "ServiceWorker.deliverPushMessage", origin=service.origin, registrationId="0", data=text
    )
