"""Immutable values, and words. Values work as frozen dataclasses do, without importing
:mod:`dataclasses`, which alone takes longer to import than the rest of this package."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from enum import Enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typing

    import typing_extensions
    from typing_extensions import dataclass_transform

    _V = typing.TypeVar("_V", bound="Value")
else:
    from seconder._later import typing, typing_extensions

    def dataclass_transform(**_):
        return lambda kind: kind


class Word(str, Enum):
    """A word that is also a string: ``Channel.SMS == "sms"``. Parameters accept the string too.

    >>> seconder.enums.Channel("sms") is seconder.enums.Channel.SMS, seconder.enums.Channel.SMS == "sms"
    (True, True)
    """

    # Enum's own method would return "Channel.SMS".
    __str__ = str.__str__

    @classmethod
    def _missing_(cls, value: object) -> None:
        # Enum's own message repeats the whole value.
        if isinstance(value, str) and len(value) > 100:
            raise ValueError(f"{value[:100]!r}... is not a valid {cls.__qualname__}")


_MISSING = object()


class _Field:
    """The properties of a field that is not plain."""

    __slots__ = ("default", "hashed", "keyword", "made", "secret", "shown")

    def __init__(
        self,
        default: object,
        made: Callable[[], object] | None,
        shown: bool,
        hashed: bool,
        keyword: bool,
        secret: bool = False,
    ) -> None:
        self.default = default
        self.made = made
        self.shown = shown
        self.hashed = hashed
        self.keyword = keyword
        self.secret = secret


def field(
    *,
    default: typing.Any = _MISSING,
    default_factory: Callable[[], object] | None = None,
    repr: bool = True,
    hash: bool = True,
    kw_only: bool = False,
    secret: bool = False,
) -> typing.Any:
    """A field with a default, hidden from ``repr``, left out of the hash, keyword-only, or secret: hidden
    from ``repr`` and masked by pydantic."""
    return _Field(default, default_factory, repr and not secret, hash, kw_only, secret)


def _init(kind: ValueType) -> typing.Any:
    """Returns the ``__init__`` of a class, for its fields."""
    # The source is compiled, as in dataclasses, so that help() shows the signature. All names come
    # from class bodies, never from input.
    scope: dict[str, typing.Any] = {"_set": object.__setattr__}
    plain = ["self"]
    named: list[str] = []
    body: list[str] = []
    for name, each in kind._fields.items():
        given = value = name
        if each.made is not None:
            # A mutable default must not be shared, so each value gets a new one. The default in
            # the signature only shows what it looks like.
            scope[f"_make_{name}"], scope[f"_default_{name}"] = each.made, each.made()
            value = f"_make_{name}() if {name} is _default_{name} else {name}"
        elif each.default is not _MISSING:
            scope[f"_default_{name}"] = each.default
        if f"_default_{name}" in scope:
            given = f"{name}=_default_{name}"
        (named if each.keyword else plain).append(given)
        body.append(f"  _set(self, {name!r}, {value})")
    if hasattr(kind, "_check"):
        body.append("  self._check()")
    parameters = ", ".join(plain + (["*", *named] if named else []))
    source = [f"def make({', '.join(scope)}):", f" def __init__({parameters}):", *body]
    known, annotations = _annotated(kind)
    made: dict[str, typing.Any] = {}
    exec("\n".join([*source, " return __init__"]), known, made)
    init = made["make"](**scope)
    init.__annotations__ = {**annotations, "return": "None"}
    init.__qualname__ = f"{kind.__qualname__}.__init__"
    init.__module__ = kind.__module__
    return init


def _annotated(kind: ValueType) -> tuple[dict[str, typing.Any], dict[str, typing.Any]]:
    """Returns the names that annotations of the fields use, and these annotations."""
    bases = [base for base in reversed(kind.__mro__) if vars(base).get("_own")]
    annotations: dict[str, typing.Any] = {}
    for base in bases:
        annotations.update(vars(base)["_own"])
    # A class that was made by exec() may be of no module.
    modules = [sys.modules[name] for name in {each.__module__: 0 for each in bases} if name in sys.modules]
    if len(modules) == 1:
        return vars(modules[0]), annotations
    known: dict[str, typing.Any] = {}
    for each in modules:
        known.update(vars(each))
    return known, annotations


class _Init:
    """The ``__init__`` of a class, compiled when it is first used: compiling all of them at once
    would take longer than the rest of the import, and a program uses few of them."""

    def __set_name__(self, kind: ValueType, name: str) -> None:
        self._kind = kind

    def __get__(self, value: object, _kind: type | None = None) -> typing.Any:
        made = _init(self._kind)
        type.__setattr__(self._kind, "__init__", made)
        return made if value is None else made.__get__(value)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class ValueType(type):
    """The metaclass of :class:`Value`: the annotations of a class become its fields."""

    _fields: dict[str, _Field]
    _own: dict[str, typing.Any]
    """The annotations in the body of the class itself."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, typing.Any]) -> ValueType:
        fields: dict[str, _Field] = {}
        for base in bases:
            fields.update(getattr(base, "_fields", {}))
        own = namespace.get("__annotations__", {})
        for each in own:
            default = namespace.pop(each, _MISSING)
            if not isinstance(default, _Field):
                default = _Field(default, None, True, True, False)
            fields[each] = default
        namespace["_fields"] = fields
        namespace["_own"] = dict(own)
        namespace["__slots__"] = (*own, *namespace.get("__slots__", ()))
        namespace["__match_args__"] = tuple(n for n, f in fields.items() if not f.keyword)
        if fields:
            namespace["__init__"] = _Init()
        return super().__new__(mcs, name, bases, namespace)


class Value(metaclass=ValueType):
    """The base of all values: frozen, equal by their fields, hashable, picklable."""

    if not TYPE_CHECKING:
        __slots__ = ("__weakref__",)

        def __setattr__(self, name, value):
            raise AttributeError(f"cannot assign to {name!r}: a {type(self).__name__} is frozen")

        def __delattr__(self, name):
            raise AttributeError(f"cannot delete {name!r}: a {type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in type(self)._fields)

    def __hash__(self) -> int:
        fields = type(self)._fields.items()
        return hash((type(self), *(getattr(self, name) for name, each in fields if each.hashed)))

    def __repr__(self) -> str:
        fields = type(self)._fields.items()
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name, each in fields if each.shown)
        return f"{type(self).__qualname__}({shown})"

    def __reduce__(self) -> tuple[Callable[..., Value], tuple[type[Value], dict[str, typing.Any]]]:
        return _again, (type(self), {name: getattr(self, name) for name in type(self)._fields})

    def __replace__(self, /, **changes: typing.Any) -> typing_extensions.Self:
        fields = {name: getattr(self, name) for name in type(self)._fields}
        return type(self)(**{**fields, **changes})

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: typing.Any) -> typing.Any:
        # Only pydantic calls this.
        from seconder._pydantic import schema

        return schema(cls, handler)

    def to_dict(self) -> dict[str, typing.Any]:
        """Returns the fields as dicts, lists, text and numbers, ready for JSON: a time is RFC 3339
        text. Secrets are included.

        >>> seconder.results.UserCreated(7, message="Hello").to_dict()
        {'user_id': 7, 'created': None, 'message': 'Hello', 'install_message': None, 'extra': {}}
        """
        fields = type(self)._fields.items()
        own = [(name, _plain(getattr(self, name))) for name, each in fields if not each.keyword]
        named = [(name, _plain(getattr(self, name))) for name, each in fields if each.keyword]
        return dict(own + named)


def _again(kind: type[_V], fields: Mapping[str, typing.Any]) -> _V:
    """Restores a pickled value."""
    return kind(**fields)


def _plain(value: typing.Any) -> typing.Any:
    """Converts a field to what JSON can hold."""
    if isinstance(value, Value):
        return value.to_dict()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, bytes):
        return value.decode()
    # A datetime is recognised by its method, because importing datetime takes time.
    moment = getattr(value, "isoformat", None)
    return value if moment is None else moment()
