"""The service that a framework's settings describe."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import inspect
import os
import threading
import types
import typing
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

# The function itself: tests of applications may replace seconder.open.
from seconder import opening
from seconder.errors import InvalidArgument
from seconder.names import Names
from seconder.options import ClientOptions, EngineOptions
from seconder.service import Service


def options(
    mapping: Mapping[str, object], prefix: str = "", *, others: Iterable[str] = ()
) -> dict[str, Any]:
    """Returns the arguments of :func:`seconder.open` that a mapping of settings holds.

    Each argument is a key in capitals: ``URL``, ``API_KEY``. So is each field of
    :class:`seconder.ClientOptions` and :class:`seconder.EngineOptions`: ``CA_FILE``, ``KEYRING``. A
    value of None is as if the key were missing. A function may be given by its dotted path, such as
    ``"shop.messages.deliver"``, which :func:`resolved` imports: the module may itself import the
    application that is being set up here. ``NAMES`` may be given as a mapping of the fields of :class:`seconder.Names`, or as the word alone.

    Args:
        mapping: The settings. With a prefix, those without it are ignored.
        prefix: The prefix of the keys, such as ``SECONDER_``.
        others: Names that are not arguments, and which the caller reads; without the prefix.

    Raises:
        InvalidArgument: A key is unknown, or the URL is missing, or a value is invalid by its form;
            ``parameter`` is the key. :func:`seconder.open` checks the rest.
    """
    known = option_names()
    others = set(others)
    given: dict[str, Any] = {}
    for key, value in mapping.items():
        if not isinstance(key, str) or not key.startswith(prefix):
            continue
        name = key[len(prefix) :]
        if name in others:
            continue
        if name not in known:
            names = [prefix + each for each in (*known, *others)]
            raise InvalidArgument(_unknown(key, names), parameter=key)
        if value is not None:
            given[known[name]] = _value(key, known[name], value)
    if "url" not in given:
        raise InvalidArgument(f"{prefix}URL is not set", parameter=f"{prefix}URL")
    for argument, kind in _OBJECTS.items():
        fields = {name: given.pop(name) for name in kind._fields if name in given}
        if fields:
            given[argument] = kind(**fields)
    return given


_OBJECTS = {"client": ClientOptions, "engine": EngineOptions}
"""The arguments whose fields are keys of their own."""


def option_names() -> dict[str, str]:
    """Returns the arguments of :func:`seconder.open` and the fields of its options, by their keys in
    settings."""
    names = [name for name in inspect.signature(opening.open).parameters if name not in _OBJECTS]
    for kind in _OBJECTS.values():
        names += kind._fields
    return {name.upper(): name for name in names}


def functions_of(call: Callable[..., object]) -> frozenset[str]:
    """Returns the parameters that may be functions, by their types."""
    hints = typing.get_type_hints(call)
    return frozenset(name for name, kind in hints.items() if name != "return" and _is_function(kind))


def _is_function(kind: object) -> bool:
    if kind is Callable or typing.get_origin(kind) is Callable:
        return True
    either = typing.get_origin(kind) in (typing.Union, types.UnionType)
    return either and any(map(_is_function, typing.get_args(kind)))


def _unknown(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f"{key} is not a setting" + (f": did you mean {near[0]}?" if near else "")


def _value(key: str, name: str, value: object) -> object:
    if name == "url" and not isinstance(value, str):
        raise InvalidArgument(f"{key} must be text", parameter=key)
    if name in functions_of(opening.open):
        return _Dotted(key, value) if isinstance(value, str) else function(key, value)
    if name == "names" and isinstance(value, (str, Mapping)):
        try:
            return Names(value) if isinstance(value, str) else Names(**value)
        except (TypeError, InvalidArgument) as error:
            raise InvalidArgument(f"{key}: {error}", parameter=key) from None
    return value


class _Dotted:
    """The dotted path of a function."""

    def __init__(self, key: str, path: str) -> None:
        if "." not in path:
            raise InvalidArgument(f"{key} must be a function or its dotted path", parameter=key)
        self.key = key
        self.path = path


def resolved(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what :func:`options` returned, with functions in place of their dotted paths.

    Raises:
        InvalidArgument: There is no such function; ``parameter`` is the key.
    """
    return {
        name: function(value.key, value.path) if isinstance(value, _Dotted) else value
        for name, value in given.items()
    }


def function(key: str, value: object) -> Any:
    """Returns the function that a setting names, or the one that it is.

    Args:
        key: The setting, for messages.
        value: A function, or its dotted path.

    Raises:
        InvalidArgument: There is no such function; ``parameter`` is the key.
    """
    found: Any = value
    if isinstance(value, str):
        module, _, name = value.rpartition(".")
        if not module:
            raise InvalidArgument(f"{key} must be a function or its dotted path", parameter=key)
        try:
            found = getattr(importlib.import_module(module), name)
        except Exception as error:  # a module may raise anything when it is imported
            raise InvalidArgument(f"{key}: {error}", parameter=key) from error
    if not callable(found):
        raise InvalidArgument(f"{key} must be a function or its dotted path", parameter=key)
    return found


class PerProcess:
    """Opens a service when it is first needed, once in each process.

    A forked child opens its own. The parent's service is left to the parent: it is neither used nor
    closed in the child.
    """

    def __init__(self, open: Callable[[], Service]) -> None:
        """Opens nothing yet.

        Args:
            open: Opens the service.
        """
        self._open = open
        self._lock = threading.Lock()
        self._service: Service | None = None
        self._instead: Service | None = None
        self._inherited: list[Service] = []
        _all.add(self)

    def get(self) -> Service:
        """Returns the service of this process.

        Raises:
            SecondFactorError: It could not be opened. The next call tries again.
        """
        service = self._instead or self._service
        if service is None:
            with self._lock:
                service = self._service
                if service is None:
                    service = self._service = self._open()
        return service

    def close(self) -> None:
        """Closes the service of this process, if it is open. A later :meth:`get` opens it again."""
        with self._lock:
            service, self._service = self._service, None
        if service is not None:
            service.close()

    @contextlib.contextmanager
    def override(self, service: Service) -> Iterator[Service]:
        """Uses another service within a ``with`` block, on all threads: for tests.

        Args:
            service: The service, such as a :class:`seconder.testing.Sandbox`'s. It is not
                closed here.
        """
        before, self._instead = self._instead, service
        try:
            yield service
        finally:
            self._instead = before

    def _after_fork(self) -> None:
        # Another thread may have held the lock when the process was forked.
        self._lock = threading.Lock()
        if self._service is not None:
            # To drop the last reference would close the parent's service here.
            self._inherited.append(self._service)
            self._service = None


_all: weakref.WeakSet[PerProcess] = weakref.WeakSet()


def _forked() -> None:
    for each in list(_all):
        each._after_fork()


os.register_at_fork(after_in_child=_forked)
