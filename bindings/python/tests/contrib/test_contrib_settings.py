"""The settings of the frameworks' adapters, and the service that each process opens from them."""

from __future__ import annotations

import os
import threading
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import pytest

import seconder
from conftest import RemoteService, in_child
from seconder.contrib import _visitor
from seconder.contrib._configured import PerProcess, functions_of, option_names, options, resolved


def deliver(message: seconder.Message) -> None:
    """A function that settings name by its path."""


records: list[seconder.results.CallRecord] = []


def record(call: seconder.results.CallRecord) -> None:
    """Another one."""
    records.append(call)


def test_every_argument_of_open_is_a_setting() -> None:
    given: dict[str, Any] = dict.fromkeys(option_names())
    assert options({**given, "URL": "sandbox:"}) == {"url": "sandbox:"}
    assert {"URL", "API_KEY", "DELIVER", "TIMEOUT", "OFFLINE_DAYS"} <= set(given)


def test_functions_are_recognised_by_their_types() -> None:
    def call(
        url: str,
        one: Optional[Callable[[str], None]] = None,
        two: None | typing.Callable[..., str] = None,
        three: Callable = print,  # type: ignore[type-arg]
        texts: dict[str, Callable[[], str]] | None = None,
    ) -> Callable[[], str]:
        return str

    assert functions_of(call) == {"one", "two", "three"}
    assert functions_of(seconder.open) == {"deliver", "post", "lookup", "on_call"}
    assert functions_of(seconder.open_async) == functions_of(seconder.open)


def test_settings_are_the_arguments_of_open() -> None:
    settings = {
        "SECRET_KEY": "is not ours",
        "SECONDER_URL": "sandbox:",
        "SECONDER_APPLICATION_NAME": "Example",
        "SECONDER_CALLBACK_URL": None,
        "SECONDER_DELIVER": f"{__name__}.deliver",
        "SECONDER_NAMES": {"word": "acme"},
        "SECONDER_PENDING": 60,
    }
    got = resolved(options(settings, "SECONDER_", others=["PENDING"]))
    assert got == {
        "url": "sandbox:",
        "engine": seconder.EngineOptions(application_name="Example"),
        "deliver": deliver,
        "names": seconder.Names("acme"),
    }
    with seconder.open(**got) as service:
        assert service.app_details().name == "Example"


@pytest.mark.parametrize("scheme", ["sqlite", "SQLite", "SQLITE"])
def test_settings_that_observe_and_limit(tmp_path: Path, scheme: str) -> None:
    records.clear()
    got = options(
        {
            "URL": f"{scheme}:{tmp_path}/test.db",
            "DELIVER": f"{__name__}.deliver",
            "DELIVER_TIMEOUT": 3,
            "ON_CALL": f"{__name__}.record",
        }
    )
    with PerProcess(lambda: seconder.open(**resolved(got))).get() as service:
        service.admin.app_stats()
    assert [each.call for each in records] == ["app_stats"]


@pytest.mark.parametrize("url", ["HTTPS://2fa.example", "Sandbox:"])
def test_a_scheme_may_be_in_capitals(url: str) -> None:
    key = {"API_KEY": "a-key"} if url.startswith("HTTPS") else {}
    seconder.open(**options({"URL": url, **key})).close()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"TIMOUT": 3}, "TIMOUT is not a setting: did you mean TIMEOUT?"),
        ({"url": "sandbox:"}, "url is not a setting"),
        ({"PENDNG": 3}, "PENDNG is not a setting: did you mean PENDING?"),
        ({"QQQQ": 3}, "QQQQ is not a setting"),
        ({"URL": None}, "URL is not set"),
        ({"URL": 7}, "URL must be text"),
        ({"DELIVER": "deliver"}, "DELIVER must be a function or its dotted path"),
        ({"DELIVER": 7}, "DELIVER must be a function or its dotted path"),
        ({"DELIVER": "os.path"}, "DELIVER must be a function or its dotted path"),
        ({"ON_CALL": 7}, "ON_CALL must be a function or its dotted path"),
        ({"ON_CALL": "os.nothing"}, "ON_CALL: module 'os' has no attribute 'nothing'"),
        ({"POST": "os.nothing"}, "POST: module 'os' has no attribute 'nothing'"),
        ({"POST": "there.is.none"}, "POST: No module named 'there'"),
        ({"NAMES": {"wrd": "acme"}}, "NAMES: "),
        ({"NAMES": "A C M E"}, "NAMES: "),
    ],
)
def test_a_wrong_setting_is_named(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(seconder.InvalidArgument) as caught:
        resolved(options({"URL": "sandbox:", **setting}, others=["PENDING"]))
    assert str(caught.value).startswith(message)
    assert caught.value.parameter == next(iter(setting))


def test_names_can_be_the_word_alone() -> None:
    assert options({"URL": "sandbox:", "NAMES": "acme"})["names"] == seconder.Names("acme")


def test_a_process_opens_one_service() -> None:
    opened: list[seconder.Service] = []

    def open() -> seconder.Service:
        opened.append(seconder.open("sandbox:"))
        return opened[-1]

    holder = PerProcess(open)
    assert not opened
    threads = [threading.Thread(target=holder.get) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert opened == [holder.get()]
    holder.close()
    holder.close()
    with pytest.raises(seconder.InvalidArgument):
        opened[0].app_details()
    assert holder.get().admin.app_stats().total_users == 0 and len(opened) == 2
    holder.close()


def test_a_service_that_cannot_be_opened_is_tried_again() -> None:
    urls = ["nothing:", "sandbox:"]
    holder = PerProcess(lambda: seconder.open(urls.pop(0)))
    with pytest.raises(seconder.InvalidArgument):
        holder.get()
    assert holder.get().admin.app_stats().total_users == 0
    holder.close()


def test_a_forked_child_opens_its_own(remote: RemoteService) -> None:
    remote.body = {"app": {"name": "Test"}, "message": "x", "success": True}
    holder = PerProcess(remote.open)
    service = holder.get()
    service.app_details()

    def work() -> None:
        own = holder.get()
        own.app_details()
        holder.close()
        assert own is not service

    # As if another thread were opening the service during the fork.
    with holder._lock:
        in_child(work)
    assert holder.get() is service and service.app_details().name == "Test"
    holder.close()


def test_a_forked_child_opens_its_own_database(tmp_path: Path) -> None:
    """While the parent keeps the database open, which workers share."""
    url = f"sqlite:{tmp_path}/test.db"
    holder = PerProcess(lambda: seconder.open(url, deliver=deliver))
    service = holder.get()
    service.create_user("ada@example.com", "555-010-0123", 1)
    children = []
    for number in range(3):
        child = os.fork()
        if child == 0:
            try:
                holder.get().create_user("eve@example.com", f"555-010-100{number}", 1)
                holder.close()
                # The parent's own can also be opened again.
                service.reopen()
                service.admin.app_stats()
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in children] == [0, 0, 0]
    assert holder.get() is service and service.admin.app_stats().total_users == 4
    holder.close()


def visitor(function: Any = None, address: str = "9.9.9.9", **headers: str) -> str | None:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return _visitor.of_request(None, function, "USER_IP", address=address, header=given.get)


@pytest.mark.parametrize("header", ["X_Forwarded_For", "Forwarded", "Via"])
def test_a_request_through_a_proxy_is_logged_once_and_still_limited(
    header: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert visitor() == "9.9.9.9" and not caplog.records
    for _ in range(2):
        # Otherwise visitors could switch the limits off by the header.
        assert visitor(**{header: "8.8.8.8"}) == "9.9.9.9"
    (record,) = caplog.records
    assert header.replace("_", "-") in record.getMessage() and "Set USER_IP" in record.getMessage()
    assert visitor(lambda request: "8.8.8.8", **{header: "8.8.8.8"}) == "8.8.8.8"
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "returned", ["1.2.3.4:567", " 1.2.3.4", "", "fe80::1%eth0", "unknown", 16909060, b"1.2.3.4"]
)
def test_what_is_no_address_names_the_setting(returned: Any) -> None:
    with pytest.raises(seconder.InvalidArgument, match="USER_IP returned") as caught:
        visitor(lambda request: returned)
    assert caught.value.parameter == "USER_IP"


def test_a_function_for_addresses_returns_any_address_or_none() -> None:
    for returned in ("127.0.0.1", "2001:db8::1", None):
        assert visitor(lambda request, found=returned: found) == returned
    assert visitor(lambda request: "::ffff:10.0.0.1") == "10.0.0.1"
