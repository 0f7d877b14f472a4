"""What a thread does with a service, one step at a time."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import random
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import seconder
from seconder import callback, totp

from checks import Checks, Violation
from flows import Flows
from values import Values
from worlds import World

NO_CALLS = {"close", "cancel", "with_timeout", "with_repeats", "reopen", "backup", "audit_pages"}
"""Methods that make no call, one that would create files with random names, and one that makes
another call again and again."""
METHODS = {
    name: (part, inspect.signature(method))
    for part, kind in (
        ("", seconder.Service),
        ("admin", seconder.admin.Admin),
        ("machines", seconder.machines.Machines),
    )
    for name, method in inspect.getmembers(kind, inspect.isfunction)
    if not name.startswith("_") and name not in NO_CALLS
}
"""The methods that make calls: the part of the service that has each, and its signature."""
CALLS = {name: signature for name, (_, signature) in METHODS.items()}
OFTEN = ("verify", "create_user", "request_sms", "request_call", "check_phone_verification")
RARELY = ("clear_sandbox", "delete_user", "create_recovery_codes", "prepare_offline")
"""Calls that others depend on, and slow ones."""
FUNCTIONS: tuple[Callable[..., Any], ...] = (
    seconder.open,
    seconder.Names,
    callback.verify,
    callback.verify_parameters,
    callback.sign,
    callback.query,
    totp.code,
    totp.Totp,
    totp.Totp.from_uri,
)
"""Functions that call no service. seconder.open gets no URL of a database, which it would create."""


class Steps:
    """The steps of one thread."""

    def __init__(self, name: str, world: World, checks: Checks, seed: str) -> None:
        self._random = random.Random(seed)
        self._values = Values(self._random, checks.known)
        self._world, self._checks = world, checks
        self._flows = Flows(self._random, world, checks, self._make)
        self._latest = checks.steps.setdefault(name, deque(maxlen=12))
        self._names = [*CALLS, *OFTEN * 4]
        self._names = [
            each for each in self._names if each not in RARELY or self._random.random() < 0.3
        ]

    def run(self, steps: int, go_on: Callable[[], bool]) -> None:
        """Takes that many steps, in this thread or in an event loop."""
        if self._random.random() < 0.35:
            asyncio.run(self._run_in_loop(steps, go_on))
            return
        # Some services are closed in the middle of what goes on.
        end = self._random.randrange(steps) if self._random.random() < 0.3 else None
        for number in range(steps):
            if not go_on() or (self._world.closed and self._random.random() < 0.05):
                return
            if number == end:
                self._world.close(self._random)
            self._step()

    def _step(self) -> None:
        chance = self._random.random()
        if chance < 0.04:
            self._call_function()
        elif chance < 0.12:
            self._do_with_handle()
        elif chance < 0.13 and self._world.sandbox is not None:
            self._fail()
        elif chance < 0.25:
            self._flows.run()
        else:
            name, args, options = self._call()
            self._make(name, *args, **options)

    def _make(self, name: str, /, *args: Any, **options: Any) -> Any:
        """Makes a call. Returns its reply, or None if it raises."""
        self._checks.made[name] += 1
        self._latest.append(f"{name}(*{_shown(args)}, **{_shown(options)})")
        handle = self._world.handle(self._random)
        closed, now = self._world.closed, self._world.now()
        try:
            reply = _method(handle, name)(*args, **options)
        except Exception as error:
            self._failed(name, args, options, error)
            return None
        self._returned(name, args, options, reply, closed, now)
        return reply

    def _call(self) -> tuple[str, list[Any], dict[str, Any]]:
        """A call with its arguments, most of which fit the signature."""
        name = self._random.choice(self._names)
        args, options = [], {}
        for parameter in list(CALLS[name].parameters.values())[1:]:
            value = self._values.value(parameter.name)
            if name == "wait_for_approval" and parameter.name == "timeout":
                value = self._values.one(0.001, 0.01, 0.02, "1", -1)
            if parameter.default is parameter.empty:
                args.append(value)
            elif self._random.random() < (0.5 if parameter.kind is parameter.KEYWORD_ONLY else 0.9):
                options[parameter.name] = value
        if self._random.random() < 0.02:
            options[self._values.one("user", "tokens", "self")] = 1
        if self._random.random() < 0.02:
            args = args[1:]
        return name, args, options

    def _failed(
        self, name: str, args: Sequence[Any], options: dict[str, Any], error: BaseException
    ) -> None:
        if isinstance(error, Violation):
            raise error
        self._checks.raised(name, _bound(name, args, options), error)

    def _returned(
        self,
        name: str,
        args: Sequence[Any],
        options: dict[str, Any],
        reply: Any,
        closed: bool,
        now: float,
    ) -> None:
        self._checks.done[name] += 1
        self._checks.require(not closed, f"{name} returns after the service was closed")
        self._world.look_at_messages()
        self._checks.returned(name, _bound(name, args, options), reply, now)

    def _fail(self) -> None:
        """Makes calls while the sandbox has a fault."""
        assert self._world.sandbox is not None
        # Not timeout: each takes 0.2 s, and those over HTTP the timeout of the client.
        kinds: Any = ("lost", "rate_limited", "unauthorized", "invalid_response", "undelivered")
        try:
            with self._world.sandbox.failing(self._random.choice(kinds), retry_after=1):
                for _ in range(3):
                    name, args, options = self._call()
                    self._make(name, *args, **options)
        except seconder.InvalidArgument as error:
            # Calls raise nothing here. Another thread has closed the service, and the sandbox with it.
            self._checks.require(self._world.closing, f"a fault is refused: {error}")

    def _do_with_handle(self) -> None:
        """Uses a service in other ways than by calls."""
        handle, chance = self._world.handle(self._random), self._random.random()
        self._latest.append(f"with the handle: {chance}")
        try:
            if chance < 0.3:
                self._world.add(handle.with_timeout(self._values.value("timeout")))
            elif chance < 0.6:
                self._world.add(handle.with_repeats(self._values.value("repeats")))
            elif chance < 0.7:
                spare = handle.with_timeout(5)
                spare.cancel()
                spare.app_details()
            elif chance < 0.8:
                repr(handle)
            elif chance < 0.85:
                self._values.one(copy.copy, copy.deepcopy, pickle.dumps)(handle)
            elif chance < 0.95 and self._world.sandbox is not None:
                self._world.sandbox.advance(self._values.one(0, 1, 30, 600, 86400))
            elif chance > 0.97:
                self._world.close(self._random)
        except TypeError as error:
            self._checks.require("cannot be pickled" in str(error), repr(error))
        except seconder.SecondFactorError as error:
            self._checks.raised("a handle", {}, error)

    def _call_function(self) -> None:
        function = self._random.choice(FUNCTIONS)
        options = {
            name: self._values.value(name)
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.default is parameter.empty or self._random.random() < 0.3
        }
        if function is seconder.open:
            urls = ("https://2fa.example.com", "sandbox:", "unix:/none.sock", "", "x:", None, b"")
            options["url"] = self._values.one(*urls)
        self._checks.made[function.__name__] += 1
        self._latest.append(f"{function.__name__}(**{_shown(options)})")
        try:
            made = function(**options)
        except Exception as error:
            self._checks.raised(function.__name__, options, error)
        else:
            self._checks.done[function.__name__] += 1
            self._checks.require(
                function not in (callback.verify, callback.verify_parameters),
                "a callback is accepted that was not signed",
            )
            if isinstance(made, seconder.Service):
                made.close()

    # With an event loop.

    async def _run_in_loop(self, steps: int, go_on: Callable[[], bool]) -> None:
        service = seconder.AsyncService(self._world.handle(self._random), threads=3)
        tasks: set[asyncio.Task[None]] = set()
        for _ in range(steps):
            if not go_on():
                break
            task = asyncio.create_task(self._step_in_loop(service))
            tasks.add(task)
            if self._random.random() < 0.1:
                await asyncio.sleep(0)
                task.cancel()
            if len(tasks) > self._random.randint(0, 8):
                _, tasks = await _finished(tasks)
        await _finished(tasks, all_of_them=True)
        # Not closed: other threads use the service.
        service._threads.stop()

    async def _step_in_loop(self, service: seconder.AsyncService) -> None:
        name, args, options = self._call()
        self._checks.made[name] += 1
        self._latest.append(f"await {name}(*{_shown(args)}, **{_shown(options)})")
        closed, now = self._world.closed, self._world.now()
        try:
            reply = await _method(service, name)(*args, **options)
        except Exception as error:
            self._failed(name, args, options, error)
        else:
            self._returned(name, args, options, reply, closed, now)


async def _finished(
    tasks: set[asyncio.Task[None]], all_of_them: bool = False
) -> tuple[set[asyncio.Task[None]], set[asyncio.Task[None]]]:
    if not tasks:
        return set(), set()
    when = asyncio.ALL_COMPLETED if all_of_them else asyncio.FIRST_COMPLETED
    done, pending = await asyncio.wait(tasks, return_when=when)
    for task in done:
        with suppress(asyncio.CancelledError):
            task.result()
    return done, pending


def _bound(name: str, args: Sequence[Any], options: dict[str, Any]) -> dict[str, Any]:
    try:
        return dict(CALLS[name].bind(None, *args, **options).arguments)
    except TypeError:
        return options


def _shown(value: object) -> str:
    try:
        return repr(value)[:300]
    except Exception as error:
        return f"<{type(error).__name__}>"


def _method(service: Any, name: str) -> Callable[..., Any]:
    part = METHODS[name][0]
    found: Callable[..., Any] = getattr(getattr(service, part) if part else service, name)
    return found
