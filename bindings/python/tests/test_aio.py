"""The asynchronous API."""

from __future__ import annotations

import asyncio
import contextvars
import pickle
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import seconder
from seconder import aio
from conftest import Phone, RemoteService, in_child


def test_a_login(tmp_path: Path) -> None:
    messages: list[seconder.Message] = []

    async def log_in() -> seconder.results.Verification:
        url = f"sqlite:{tmp_path}/test.db"
        async with seconder.open_async(url, deliver=messages.append) as service:
            assert repr(service) == "<seconder.AsyncService on sqlite:>"
            user = await service.create_user("ada@example.com", "555-010-0123", 1)
            await service.request_sms(user.user_id)
            with pytest.raises(seconder.NotChecked):
                await service.verify(user.user_id, messages[-1].code, force=False)
            return await service.verify(user.user_id, messages[-1].code)

    device = asyncio.run(log_in()).device
    assert device is not None and device.os_type == "sms"


def test_every_method_passes_on_its_arguments() -> None:
    """Each calls the method of the Service with the same name and the same arguments."""

    class Recorder:
        def __init__(self, kind: type) -> None:
            self.kind = kind

        def __getattr__(self, name: str) -> Any:
            def method(*args: Any, **options: Any) -> Any:
                bound = signature(getattr(self.kind, name)).bind(None, *args, **options)
                return name, bound.arguments

            return method

    from inspect import Parameter, iscoroutinefunction, signature

    async def ask() -> None:
        service: Any = seconder.AsyncService(Recorder(seconder.Service))  # type: ignore[arg-type]
        admin = aio.AsyncAdmin(service, Recorder(seconder.admin.Admin))  # type: ignore[arg-type]
        machines = aio.AsyncMachines(service, Recorder(seconder.machines.Machines))  # type: ignore[arg-type]
        methods = [(name, each) for each in (service, admin, machines) for name in dir(each)]
        for name, holder in methods:
            method = getattr(holder, name)
            own = ("close", "wait_for_approval")
            if name.startswith("_") or name in own or not iscoroutinefunction(method):
                continue
            kinds = signature(method).parameters.values()
            given: dict[str, Any] = {each.name: object() for each in kinds}
            others = [each.name for each in kinds if each.kind == Parameter.VAR_KEYWORD]
            by_name = (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD)
            plain = [given[each.name] for each in kinds if each.kind not in by_name]
            named = {n: v for n, v in given.items() if v not in plain}
            called, arguments = await method(*plain, **named)
            for other in others:
                arguments |= arguments.pop(other)
            assert (called, {**arguments, "self": None}) == (name, {"self": None, **given})

    asyncio.run(ask())


def test_calls_do_not_block_the_loop_and_are_bounded_by_the_threads(
    remote: RemoteService,
) -> None:
    in_progress: list[int] = []
    three, go = threading.Semaphore(0), threading.Event()

    def before() -> None:
        in_progress.append(1)
        three.release()
        assert go.wait(timeout=30)

    remote.before = before
    remote.body = {"app": {"name": "Example"}, "success": True}

    async def ask() -> None:
        async with seconder.AsyncService(remote.open(timeout=60), threads=3) as service:
            asking = [asyncio.ensure_future(service.app_details()) for _ in range(5)]
            for _ in range(3):
                while not three.acquire(blocking=False):
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            assert len(in_progress) == 3 and not any(each.done() for each in asking)
            asking[4].cancel()
            # The loop needs two turns to cancel the call, which no thread has begun.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            go.set()
            found = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(each) for each in found[:4]] == [seconder.results.Application] * 4
        assert isinstance(found[4], asyncio.CancelledError)

    asyncio.run(ask())
    assert len(in_progress) == 4, "a call that was cancelled before it began was made"


def test_waiting_for_an_approval_occupies_no_thread(phone: Phone) -> None:
    device = phone.service.register_device(phone.user_id, "ios")
    proof: Any = {"device_id": device.device_id, "device_secret": device.secret}

    async def wait() -> seconder.results.Approval:
        service = seconder.AsyncService(phone.service, threads=1)
        uuid = (await service.create_approval(phone.user_id, "Log in?")).uuid
        waiting = [
            asyncio.ensure_future(service.wait_for_approval(uuid, phone.user_id, timeout=30))
            for _ in range(8)
        ]
        await asyncio.sleep(0.1)
        waiting[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting[0]
        await service.respond_to_approval(uuid, **proof, response="approve")
        found = await asyncio.gather(*waiting[1:])
        with pytest.raises(seconder.InvalidArgument):
            await service.wait_for_approval(uuid, phone.user_id + 1, timeout=30)
        with pytest.raises(seconder.InvalidArgument):
            await service.wait_for_approval(uuid, phone.user_id, timeout=0)
        return found[-1]

    assert asyncio.run(wait()).approved_by(phone.user_id)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_the_wait(phone: Phone) -> None:
    uuid = phone.service.create_approval(phone.user_id, "Log in?").uuid
    service = seconder.AsyncService(phone.service)
    here, began = threading.get_ident(), time.monotonic()
    thread = threading.Timer(0.2, signal.pthread_kill, [here, signal.SIGINT])
    # On a busy machine the signal may come before the wait has begun.
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        asyncio.run(service.wait_for_approval(uuid, phone.user_id, timeout=60))
    thread.join()
    assert time.monotonic() - began < 20


def test_it_polls_as_rarely_as_the_synchronous_wait(
    remote: RemoteService, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    polls: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    def sleep_here(seconds: float) -> None:
        # Threads of other tests may sleep too.
        if threading.current_thread() is threading.main_thread():
            pauses.append(seconds)

    def before() -> None:
        polls.append(sum(pauses))
        # A response ends the wait: a poll at its end could take 100 ms of real time only.
        status = "pending" if polls[-1] < 20 else "denied"
        request = {"uuid": "a-1", "svc_id": 7, "status": status}
        remote.body = {"approval_request": request, "success": True}

    remote.before = before
    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(time, "sleep", sleep_here)
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0 + sum(pauses))
    with remote.open() as service:
        plain = service.wait_for_approval("a-1", 7, timeout=60)
        expected = polls.copy()
        pauses.clear()
        polls.clear()
        awaited = asyncio.run(
            seconder.AsyncService(service).wait_for_approval("a-1", 7, timeout=60)
        )
    assert awaited == plain and polls == pytest.approx(expected)
    assert polls[:3] == [0, 0.5, 1.25]


def test_calls_see_the_context_variables_of_their_task(tmp_path: Path) -> None:
    request = contextvars.ContextVar("request", default="none")
    seen: list[str] = []

    async def send() -> None:
        url = f"sqlite:{tmp_path}/test.db"
        service = await seconder.open_async(url, deliver=lambda m: seen.append(request.get()))
        async with service.with_timeout(5):
            user = await service.create_user("ada@example.com", "555-010-0123", 1)
            request.set("number 7")
            await service.request_sms(user.user_id)
        with pytest.raises(seconder.InvalidArgument, match="closed"):
            await service.app_details()

    asyncio.run(send())
    assert seen[-1] == "number 7"


def own() -> set[threading.Thread]:
    """The threads of the services in this process."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("seconder")}


def test_a_cancelled_close_leaves_nothing_open(phone: Phone) -> None:
    go = threading.Event()

    async def cancel() -> set[threading.Thread]:
        loop, before = asyncio.get_running_loop(), own()
        loop.set_default_executor(ThreadPoolExecutor(1))
        service = seconder.AsyncService(phone.service)
        await service.user_status(phone.user_id)
        threads = own() - before
        busy = loop.run_in_executor(None, go.wait, 30)
        closing = asyncio.ensure_future(service.close())
        await asyncio.sleep(0.05)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        go.set()
        assert await busy
        return threads

    threads = asyncio.run(cancel())
    assert len(threads) == 1
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()
    assert "closed" in repr(phone.service)


def test_a_closed_service_raises_without_starting_a_thread(phone: Phone) -> None:
    async def ask() -> None:
        service = seconder.AsyncService(phone.service)
        quick = service.with_timeout(1)
        await service.user_status(phone.user_id)
        before = own()
        await service.close()
        for closed in (service, quick, service.with_repeats("none")):
            with pytest.raises(seconder.InvalidArgument, match="closed"):
                await closed.user_status(phone.user_id)
            with pytest.raises(seconder.InvalidArgument, match="closed"):
                await closed.wait_for_approval("a-1", phone.user_id, timeout=5)
        assert own() <= before
        await service.close()

    asyncio.run(ask())


def test_an_invalid_number_of_threads_is_rejected(phone: Phone, tmp_path: Path) -> None:
    wrong: list[Any] = [0, 1025, "many"]
    before = set(tmp_path.iterdir())
    for threads in wrong:
        with pytest.raises(seconder.InvalidArgument) as caught:
            asyncio.run(seconder.open_async(f"sqlite:{tmp_path}/new.db", threads=threads))
        assert caught.value.parameter == "threads"
        assert set(tmp_path.iterdir()) == before, "a database was created nevertheless"
    with pytest.raises(TypeError):
        pickle.dumps(seconder.AsyncService(phone.service))


def test_a_forked_child_starts_new_threads(remote: RemoteService) -> None:
    remote.body = {"app": {"name": "Example"}, "success": True}
    service = seconder.AsyncService(remote.open())

    def ask() -> None:
        assert asyncio.run(service.app_details()).name == "Example"

    ask()
    in_child(ask)
    asyncio.run(service.close())
