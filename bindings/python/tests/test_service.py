"""A service as an object: sharing, closing and repr; and many threads at the same time."""

from __future__ import annotations

import concurrent.futures
import copy
import pickle
import socket
import threading
import time
from pathlib import Path

import pytest

import seconder
from conftest import Phone, RemoteService


def test_it_cannot_be_pickled_or_copied(phone: Phone) -> None:
    for copying in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            copying(phone.service)


def test_repr_shows_no_secret(tmp_path: Path) -> None:
    with seconder.open(f"sqlite:{tmp_path}/test.db", api_key="a-key-that-nobody-sees") as service:
        assert repr(service) == str(service) == "<seconder.Service on sqlite:>"
        assert "nobody-sees" not in repr(service._native)
    assert "closed" in repr(service)


def test_closing_twice_is_allowed_and_calls_then_raise(phone: Phone) -> None:
    phone.service.close()
    phone.service.close()
    with pytest.raises(seconder.InvalidArgument, match="closed"):
        phone.service.request_sms(phone.user_id)


def test_data_persists_when_the_database_is_opened_again(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/test.db"
    with seconder.open(url) as service:
        key = service.admin.api_key()
        user = service.create_user("ada@example.com", "555-010-0123", 1)
    with seconder.open(url) as service:
        assert service.admin.api_key() == key
        assert service.user_status(user.user_id).user_id == user.user_id


def test_other_threads_run_while_a_call_waits(remote: RemoteService) -> None:
    """The remote service is a thread of this process, so the call must let it run."""
    remote.body = {"token": "is valid", "success": "true", "message": "Token is valid."}
    with remote.open() as service:
        found = service.verify(7, "1234567")
    assert found == seconder.results.Verification(message="Token is valid.")
    assert [seen[:2] for seen in remote.seen] == [("GET", "/protected/json/verify/1234567/7?force=true")]


def test_a_slow_deliver_does_not_block_other_calls(tmp_path: Path) -> None:
    slow, other = threading.Event(), threading.Event()

    def deliver(message: seconder.Message) -> None:
        slow.set()
        assert other.wait(timeout=10), "another thread could not make a call meanwhile"

    with seconder.open(f"sqlite:{tmp_path}/test.db", deliver=deliver) as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            sending = pool.submit(service.request_sms, user.user_id)
            assert slow.wait(timeout=10)
            assert service.user_status(user.user_id).user_id == user.user_id
            other.set()
            sending.result(timeout=10)


def test_ctrl_c_in_deliver_is_raised_by_the_call(tmp_path: Path) -> None:
    def deliver(message: seconder.Message) -> None:
        raise KeyboardInterrupt

    with seconder.open(f"sqlite:{tmp_path}/test.db", deliver=deliver) as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        with pytest.raises(KeyboardInterrupt):
            service.request_sms(user.user_id)
        assert service.user_status(user.user_id).user_id == user.user_id


def present(phone: Phone, code: str, together: threading.Barrier) -> str:
    together.wait()
    try:
        phone.service.verify(phone.user_id, code)
        return "in"
    except (seconder.TokenInvalid, seconder.RateLimited):
        return "out"


def test_one_code_lets_one_of_many_threads_in(phone: Phone) -> None:
    phone.service.request_sms(phone.user_id)
    phone.service.verify(phone.user_id, phone.code())
    app = phone.service.enrol_authenticator(phone.user_id)
    code, together = seconder.totp.code(app.uri), threading.Barrier(64)
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        racing = [pool.submit(present, phone, code, together) for _ in range(64)]
        results = [each.result(timeout=60) for each in racing]
    assert results.count("in") == 1


def test_one_sms_lets_one_of_many_threads_in(phone: Phone) -> None:
    phone.service.request_sms(phone.user_id)
    code, together = phone.code(), threading.Barrier(64)
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        racing = [pool.submit(present, phone, code, together) for _ in range(64)]
        results = [each.result(timeout=60) for each in racing]
    assert results.count("in") == 1


def test_a_timeout_ends_a_call(remote: RemoteService) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        remote.url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with remote.open(timeout=0.5) as service:
            began = time.monotonic()
            with pytest.raises(seconder.Timeout) as caught:
                service.verify(7, "1234567")
            with pytest.raises(TimeoutError):
                service.with_timeout(0.1).verify(7, "1234567")
            assert isinstance(caught.value, ConnectionError) and caught.value.stage == "response"
    assert time.monotonic() - began < 5 and not caught.value.retry_safe
