"""The app shows codes, also where there is no network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from app import App
from conftest import require
from driven import Chromium
from phone import Phone
from push_service import PushService
from service import Service


@pytest.fixture
def own_service(tmp_path: Path, push_service: PushService) -> Iterator[Service]:
    """A service to stop."""
    service = Service(tmp_path, push_service.host)
    yield service
    service.close()


def test_the_code_is_right_without_a_network(
    own_service: Service, new_phone: Callable[[Service], Phone]
) -> None:
    user = own_service.add_user()
    phone = new_phone(own_service)
    try:
        app = App(phone, own_service)
        app.enrol(user)
        phone.wait(lambda: phone.script(KEPT), "the app to be kept")
        own_service.stop()
        app.reload()
        code = app.code()
        own_service.start()
        wrong = f"{(int(code) + 1) % 1_000_000:06}"
        assert not user.accepts(wrong) and user.accepts(code)
        # Without a network, it is right that a browser complains.
        assert [text for text in phone.complaints() if "blocked" in text] == []
    finally:
        phone.close()


SLOW = """
  const { now } = Date;
  Date.now = () => now() - 10 * 60_000;
"""
"""A clock that is ten minutes behind."""


def test_a_phone_whose_clock_is_wrong_shows_the_right_code_without_a_network(
    own_service: Service
) -> None:
    user = own_service.add_user()
    require("chromium")
    phone = Chromium(own_service.trusted)
    try:
        phone.cdp("Page.addScriptToEvaluateOnNewDocument", source=SLOW)
        app = App(phone, own_service)
        app.enrol(user)
        phone.wait(lambda: phone.script(KEPT), "the app to be kept")
        own_service.stop()
        app.reload()
        code = app.code()
        own_service.start()
        assert user.accepts(code)
    finally:
        phone.close()


SUSPENDED = """
  const { fetch } = window;
  const { now } = Date;
  const { put } = IDBObjectStore.prototype;
  const kept = [];
  IDBObjectStore.prototype.put = function (...rest) {
    if (rest[1] === "ahead") kept.push(rest[0]);
    return put.apply(this, rest);
  };
  await new Promise((done) => {
    window.fetch = async (...rest) => {
      const reply = await fetch(...rest);
      Date.now = () => now() + 10 * 60_000;
      // The page has handled the headers of the reply by then.
      setTimeout(() => {
        Date.now = now;
        done();
      });
      return reply;
    };
  });
  return kept;
"""
"""Lets ten minutes pass between a reply and its handling, and returns by how much the page corrects its clock."""


def test_a_reply_from_before_the_page_was_suspended_sets_no_clock(enrolled: App) -> None:
    assert enrolled.phone.script(SUSPENDED) == []


KEPT = """
  const worker = await navigator.serviceWorker.ready;
  return worker.active.state === "activated" && Boolean(navigator.serviceWorker.controller);
"""
