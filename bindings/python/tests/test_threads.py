"""Sixteen threads use the same objects at the same time. In a free-threaded Python only the module
keeps them apart; otherwise these tests make the global lock change hands often."""

from __future__ import annotations

import asyncio
import pickle
import re
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
from conftest import Phone, open_with
from seconder.contrib.replay import SqlReplay
from seconder.testing import Sandbox

THREADS = 16
ROUNDS = 10
REJECTIONS = (seconder.TokenInvalid, seconder.RateLimited)

T = TypeVar("T")


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    """Makes the global lock change hands every 10 µs, so that races show."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], T]) -> list[T | Exception]:
    """Runs the work in all threads at the same time, and returns each result or exception."""
    gate = threading.Barrier(THREADS)
    results: list[T | Exception] = [RuntimeError("the thread did not end")] * THREADS

    def one(number: int) -> None:
        gate.wait(timeout=30)
        try:
            results[number] = work(number)
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=one, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return results


def all_good(results: list[T | Exception]) -> list[T]:
    for each in results:
        if isinstance(each, Exception):
            raise each
    return [each for each in results if not isinstance(each, Exception)]


def one_was_let_in(results: list[seconder.results.Verification | Exception]) -> bool:
    """Returns whether exactly one was let in, and all others were rejected."""
    let_in = [each for each in results if isinstance(each, seconder.results.Verification)]
    rejected = [each for each in results if isinstance(each, REJECTIONS)]
    assert len(let_in) + len(rejected) == THREADS, results
    return len(let_in) == 1


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python is not free-threaded"
)
def test_python_stays_free_threaded() -> None:
    """For a module that does not declare itself safe, Python warns and enables its global lock."""
    program = "import seconder, sys; print(sys._is_gil_enabled())"
    command = [sys.executable, "-W", "error", "-c", program]
    assert subprocess.check_output(command, text=True) == "False\n"
    assert not getattr(sys, "_is_gil_enabled")()


@pytest.mark.parametrize("kind", ["sms", "app"])
def test_one_code_lets_one_thread_in(phone: Phone, kind: str) -> None:
    for number in range(ROUNDS):
        user = phone.service.create_user("ada@example.com", f"555-010-{1000 + number}", 1).user_id
        if kind == "sms":
            phone.service.request_sms(user)
            code = phone.code()
        else:
            code = seconder.totp.code(phone.service.enrol_authenticator(user).uri)
        assert one_was_let_in(at_once(lambda _: phone.service.verify(user, code)))


def test_one_code_lets_in_one_task_of_several_loops(phone: Phone) -> None:
    service = seconder.AsyncService(phone.service, threads=4)

    async def present(code: str) -> int:
        tasks = (service.verify(phone.user_id, code) for _ in range(4))
        results = await asyncio.gather(*tasks, return_exceptions=True)
        for each in results:
            if not isinstance(each, (seconder.results.Verification, *REJECTIONS)):
                raise AssertionError(each)
        return sum(isinstance(each, seconder.results.Verification) for each in results)

    phone.service.request_sms(phone.user_id)
    assert sum(all_good(at_once(lambda _: asyncio.run(present(phone.code()))))) == 1
    asyncio.run(service.close())


def test_every_thread_gets_its_own_results(phone: Phone) -> None:
    def live(number: int) -> int:
        service = phone.service.with_timeout(number + 1).with_repeats("none")
        user = service.create_user(f"{number}@example.com", f"555-010-{2000 + number}", 1).user_id
        device = service.register_device(user, "ios")
        proof: Any = {"device_id": device.device_id, "device_secret": device.secret}
        for round in range(3):
            request = service.create_approval(user, f"{number}", details={"round": str(round)})
            (shown,) = service.open_approvals(**proof)
            assert (shown.uuid, shown.message) == (request.uuid, f"{number}")
            service.respond_to_approval(request.uuid, response="approve", **proof)
            approval = service.wait_for_approval(request.uuid, user, timeout=30)
            assert approval.approved_by(user) and not approval.approved_by(phone.user_id)
            with pytest.raises(seconder.TokenMalformed, match="token"):
                service.verify(user, "12")
        return user

    assert len(set(all_good(at_once(live)))) == THREADS


def test_one_thread_closes_the_service_that_others_use(tmp_path: Path) -> None:
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


def receiver(number: int, **settings: Any) -> Callable[[int], seconder.results.Event]:
    """Returns a function that verifies a callback with this number."""
    body = f'{{"uuid":"a-{number}","status":"approved","svc_id":7}}'.encode()
    given: Any = {"api_key": "a-key", "url": "https://app.example/callback"}
    given.update(body=body, nonce=f"{int(time.time())}.{number}")
    signature = seconder.callback.sign(**given)
    given.update(signature=signature, method="POST", **settings)
    return lambda _: seconder.callback.verify(**given)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_one_thread_accepts_a_callback(tmp_path: Path, kind: str) -> None:
    memory: seconder.callback.Replay = seconder.callback.Memory()
    if kind == "sqlite":
        memory = SqlReplay.sqlite(tmp_path / "replay.db")
    for number in range(ROUNDS):
        results = at_once(receiver(number, fresh=300, replay=memory))
        events = [each for each in results if isinstance(each, seconder.results.Event)]
        assert [event.uuid for event in events] == [f"a-{number}"]
        rejected = [each for each in results if isinstance(each, seconder.InvalidCallback)]
        assert len(rejected) == THREADS - 1, results


def test_a_memory_can_be_used_while_it_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread checks its own keys and shared ones, while time passes and keys expire."""
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


def test_threads_can_share_a_totp() -> None:
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


def test_threads_can_share_results() -> None:
    event = receiver(0)(0)
    values: list[object] = [event, seconder.results.UserStatus(7, confirmed=True, devices=("ios",))]
    values += [seconder.results.UserCreated(7, extra={"more": [1]}), seconder.enums.Channel.SMS]

    def look(_: int) -> str:
        for value in values * 50:
            again = pickle.loads(pickle.dumps(value))
            assert again == value and repr(again) == repr(value)
            unhashed = isinstance(value, (seconder.enums.Channel, seconder.results.Event))
            assert unhashed or hash(again) == hash(value)
        assert event.approved_by(7) and not event.approved_by(8)
        return str(event.to_dict())

    assert len(set(all_good(at_once(look)))) == 1


def test_arguments_may_change_during_a_call(phone: Phone) -> None:
    """A call sends the argument as it was at some moment, or raises an error about it."""
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

        def report(_: int) -> None:
            for _ in range(20):
                phone.service.register_activity(phone.user_id, "cookie_login", data=data)

        all_good(at_once(report))
    finally:
        done.set()
        thread.join()


def test_threads_can_share_a_sandbox() -> None:
    with Sandbox() as sandbox:

        def live(number: int) -> None:
            service = sandbox.open("https://2fa.example.com", api_key="ignored")
            user = service.create_user("ada@example.com", f"555-010-{1000 + number}", 1).user_id
            service.request_sms(user)
            assert service.verify(user, sandbox.code(user))
            request = service.create_approval(user, "Log in?")
            callback = sandbox.approve(user)
            assert request.uuid.encode() in callback.body
            assert service.check_approval(request.uuid).approved_by(user)

        all_good(at_once(live))
        assert len(sandbox.callbacks) == THREADS


FIRST_USE = """
    import sys, threading
    sys.setswitchinterval(1e-5)
    gate, results = threading.Barrier(16), []

    def use(number):
        gate.wait()
        import seconder
        kinds = [seconder.AsyncService, seconder.EngineOptions, seconder.open_async]
        kinds.append(seconder.admin.Admin)
        kinds.append(seconder.callback.Replay)
        with seconder.open("sandbox:?accept=0000000") as service:
            user = service.create_user("ada@example.com", "555-010-0123", 1)
            try:
                service.verify(user.user_id, "1111111")
            except seconder.TokenInvalid:
                results.append(tuple(map(id, kinds)))

    threads = [threading.Thread(target=use, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 16 and len(set(results)) == 1, results
"""


def test_many_threads_can_be_first_to_use_the_package() -> None:
    """Modules that are imported on first use are imported once."""
    for _ in range(5):
        subprocess.run([sys.executable, "-c", textwrap.dedent(FIRST_USE)], check=True, timeout=300)


def test_only_what_a_program_asks_for_starts_threads(tmp_path: Path) -> None:
    """Invariant 9 of ARCHITECTURE.md names what that is."""
    before, started = set(threading.enumerate()), []

    def deliver(message: seconder.Message) -> None:
        started.append(len(set(threading.enumerate()) - before))

    settings: tuple[dict[str, Any], ...] = ({}, {"deliver_timeout": 60})
    for number, given in enumerate(settings):
        url = f"sqlite:{tmp_path}/{number}.db"
        with open_with(url, deliver=deliver, post=print, **given) as service:
            user = service.create_user("ada@example.com", "555-010-0123", 1).user_id
            service.request_sms(user)
            with pytest.raises(seconder.TokenInvalid):
                service.verify(user, "0000000")
    assert started == [0, 1]
    assert not set(threading.enumerate()) - before

    package = Path(seconder.__file__).parent
    starting = ("Thread(", "ThreadPoolExecutor(", "to_thread(", "start_new_thread(", "Timer(")
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any(each in path.read_text() for each in starting)
    }
    assert found == {"_functions.py", "_awaited.py", "_threads.py", "testing/_server.py"}


EXITS = Path(__file__).parents[3] / "packaging" / "exits.py"
STATES = re.findall(r"^def (\w+)\(folder: Path\)", EXITS.read_text(), re.MULTILINE)


@pytest.mark.parametrize("state", STATES)
def test_the_interpreter_ends_while_a_thread_is_in_a_call(state: str, tmp_path: Path) -> None:
    command = [sys.executable, str(EXITS), state, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
