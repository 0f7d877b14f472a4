"""Sixteen threads at the same things at once. Where Python has no lock, nothing but the module keeps
them apart; where it has one, it changes hands often here."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
import sysconfig
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

import seconder
from conftest import Phone
from seconder.contrib.replay import SqlReplay
from seconder.testing import Sandbox

THREADS = 16
ROUNDS = 10

T = TypeVar("T")


@pytest.fixture(autouse=True)
def _in_turns() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], T]) -> list[T | Exception]:
    """What each thread's work gave, or the exception that ended it; all begin together."""
    gate = threading.Barrier(THREADS)
    told: list[T | Exception] = [RuntimeError("it did not end")] * THREADS

    def one(number: int) -> None:
        gate.wait(timeout=30)
        try:
            told[number] = work(number)
        except Exception as error:
            told[number] = error

    threads = [threading.Thread(target=one, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return told


def all_good(told: list[T | Exception]) -> list[T]:
    for each in told:
        if isinstance(each, Exception):
            raise each
    return [each for each in told if not isinstance(each, Exception)]


def one_came_in(told: list[seconder.Verification | Exception]) -> bool:
    """Whether one was let in, and the others were told that they were not."""
    let_in = [each for each in told if isinstance(each, seconder.Verification)]
    refused = [each for each in told if isinstance(each, (seconder.TokenInvalid, seconder.RateLimited))]
    assert len(let_in) + len(refused) == THREADS, told
    return len(let_in) == 1


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python cannot do without the lock"
)
def test_python_stays_without_the_lock() -> None:
    """Python would take it for a module that does not declare itself safe, and say so."""
    program = "import seconder, sys; print(sys._is_gil_enabled())"
    command = [sys.executable, "-W", "error", "-c", program]
    assert subprocess.check_output(command, text=True) == "False\n"
    assert not getattr(sys, "_is_gil_enabled")()


@pytest.mark.parametrize("kind", ["sms", "app"])
def test_one_code_lets_one_thread_in(phone: Phone, kind: str) -> None:
    for number in range(ROUNDS):
        user = phone.service.create_user("ada@example.com", f"555-010-{1000 + number}", 1).id
        if kind == "sms":
            phone.service.request_sms(user)
            code = phone.code()
        else:
            code = seconder.totp.code(phone.service.enrol_authenticator(user).uri)
        assert one_came_in(at_once(lambda _: phone.service.verify(code, user, force=True)))


def test_one_code_lets_one_task_in_of_several_loops(phone: Phone) -> None:
    service = seconder.AsyncService(phone.service, threads=4)

    async def present(code: str) -> int:
        tasks = (service.verify(code, phone.user_id, force=True) for _ in range(4))
        told = await asyncio.gather(*tasks, return_exceptions=True)
        for each in told:
            if not isinstance(each, (seconder.Verification, seconder.TokenInvalid, seconder.RateLimited)):
                raise AssertionError(each)
        return sum(isinstance(each, seconder.Verification) for each in told)

    phone.service.request_sms(phone.user_id)
    assert sum(all_good(at_once(lambda _: asyncio.run(present(phone.code()))))) == 1
    asyncio.run(service.close())


def test_every_thread_gets_what_it_asked_for(phone: Phone) -> None:
    def live(number: int) -> int:
        service = phone.service.with_timeout(number + 1).with_repeats("none")
        user = service.create_user(f"{number}@example.com", f"555-010-{2000 + number}", 1).id
        device = service.register_device(user, "ios")
        proof: Any = {"device_id": device.device_id, "device_secret": device.secret}
        for round in range(3):
            asked = service.create_approval(user, f"{number}", details={"round": str(round)})
            (shown,) = service.open_approvals(**proof)
            assert (shown.uuid, shown.message) == (asked.uuid, f"{number}")
            service.respond_to_approval(asked.uuid, response="approve", **proof)
            approval = service.wait_for_approval(asked.uuid, user, timeout=30)
            assert approval.approved_by(user) and not approval.approved_by(phone.user_id)
            with pytest.raises(seconder.InvalidArgument, match="token"):
                service.verify("12", user)
        return user

    assert len(set(all_good(at_once(live)))) == THREADS


def test_one_thread_closes_what_the_others_use(tmp_path: Path) -> None:
    for round in range(ROUNDS):
        service = seconder.open(f"sqlite:{tmp_path}/{round}.db")

        def use(number: int, service: seconder.Service = service) -> int:
            if number == 0:
                service.close()
            calls = 0
            while True:
                assert repr(service).startswith("<seconder.Service on sqlite:")
                try:
                    service.with_timeout(2).app_details()
                except seconder.InvalidArgument as error:
                    assert error.parameter == "service"
                    return calls
                calls += 1

        all_good(at_once(use))


def receiver(number: int, **settings: Any) -> Callable[[int], seconder.Event]:
    """What checks a callback that is like no other."""
    body = f'{{"uuid":"a-{number}","status":"approved","svc_id":7}}'.encode()
    given: Any = {"api_key": "a-key", "url": "https://app.example/callback"}
    given.update(body=body, nonce=f"{int(time.time())}.{number}")
    signature = seconder.callback.sign(**given)
    given.update(signature=signature, method="POST", **settings)
    return lambda _: seconder.callback.verify(**given)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_one_thread_believes_a_callback(tmp_path: Path, kind: str) -> None:
    memory: seconder.callback.Replay = seconder.callback.Memory()
    if kind == "sqlite":
        memory = SqlReplay.sqlite(tmp_path / "replay.db")
    for number in range(ROUNDS):
        told = at_once(receiver(number, fresh=300, replay=memory))
        events = [each for each in told if isinstance(each, seconder.Event)]
        assert [event.uuid for event in events] == [f"a-{number}"]
        assert sum(isinstance(each, seconder.InvalidCallback) for each in told) == THREADS - 1, told


def test_a_memory_forgets_while_others_remember(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each looks at a key of its own and one of all, while time goes on and what is stale goes."""
    now = time.time()
    ticks = iter(range(10**6))
    lock = threading.Lock()

    def later() -> float:
        with lock:
            return now + next(ticks) / 100

    monkeypatch.setattr(time, "time", later)
    memory = seconder.callback.Memory(10_000)

    def remember(number: int) -> int:
        own = [memory.first_time(f"{number}-{turn}", now + turn / 10) for turn in range(200)]
        assert all(own)
        return sum(memory.first_time(f"all-{turn}", now + 10**6) for turn in range(50))

    assert sum(all_good(at_once(remember))) == 50


def test_an_authenticator_is_one_for_all() -> None:
    totp = seconder.totp.Totp.generate()
    moment = 1_700_000_000
    code, uri = totp.code(at=moment), totp.uri("Example", "ada@example.com")

    def use(number: int) -> tuple[int, bool]:
        for _ in range(200):
            assert (totp.code(at=moment), totp.uri("Example", "ada@example.com")) == (code, uri)
            assert seconder.totp.Totp.from_uri(uri).code(at=moment) == code
        step = totp.check(code, at=moment)
        with pytest.raises(seconder.TokenInvalid) as caught:
            totp.check(code, at=moment, last_step=step)
        return step, caught.value.reused

    assert set(all_good(at_once(use))) == {(moment // 30, True)}


def test_a_result_is_the_same_for_all() -> None:
    event = receiver(0)(0)
    values: list[object] = [event, seconder.UserStatus(7, confirmed=True, devices=("ios",))]
    values += [seconder.UserCreated(7, extra={"more": [1]}), seconder.Channel.SMS]

    def look(_: int) -> str:
        for value in values * 50:
            again = pickle.loads(pickle.dumps(value))
            assert again == value and repr(again) == repr(value)
            assert isinstance(value, (seconder.Channel, seconder.Event)) or hash(again) == hash(value)
        assert event.approved_by(7) and not event.approved_by(8)
        return str(event.to_dict())

    assert len(set(all_good(at_once(look)))) == 1


def test_what_is_sent_may_change_meanwhile(phone: Phone) -> None:
    """A call sends the argument as it was at some moment, or says what is wrong with it."""
    data: dict[str, object] = {"list": [1], "dict": {"a": "b"}}
    done = threading.Event()

    def change() -> None:
        number = 0
        while not done.is_set():
            number += 1
            data[f"{number % 50}"] = number
            data.pop(f"{(number * 7) % 50}", None)
            data["list"] = list(range(number % 9))
            inner = data["list"]
            assert isinstance(inner, list)
            inner.append(number)

    thread = threading.Thread(target=change)
    thread.start()
    try:

        def tell(_: int) -> None:
            for _ in range(20):
                phone.service.register_activity(phone.user_id, "cookie_login", data=data)

        all_good(at_once(tell))
    finally:
        done.set()
        thread.join()


def test_threads_share_a_sandbox() -> None:
    with Sandbox() as sandbox:

        def live(number: int) -> None:
            service = sandbox.open("https://2fa.example.com", api_key="not looked at")
            user = service.create_user("ada@example.com", f"555-010-{1000 + number}", 1).id
            service.request_sms(user)
            assert service.verify(sandbox.code(user), user, force=True)
            asked = service.create_approval(user, "Log in?")
            callback = sandbox.approve(user)
            assert asked.uuid.encode() in callback.body
            assert service.check_approval(asked.uuid).approved_by(user)

        all_good(at_once(live))
        assert len(sandbox.callbacks) == THREADS


FIRST_USE = """
    import sys, threading
    sys.setswitchinterval(1e-5)
    gate, told = threading.Barrier(16), []

    def use(number):
        gate.wait()
        import seconder
        kinds = [seconder.AsyncService, seconder.Logo, seconder.Opening, seconder.open_async]
        kinds.append(seconder.callback.Replay)
        with seconder.open("sandbox:?accept=0000000") as service:
            user = service.create_user("ada@example.com", "555-010-0123", 1)
            try:
                service.verify("1111111", user.id, force=True)
            except seconder.TokenInvalid:
                told.append(tuple(map(id, kinds)))

    threads = [threading.Thread(target=use, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 16 and len(set(told)) == 1, told
"""


def test_the_first_use_may_be_that_of_many() -> None:
    """What is loaded late is loaded once, by whoever comes first."""
    for _ in range(5):
        subprocess.run([sys.executable, "-c", textwrap.dedent(FIRST_USE)], check=True, timeout=60)
