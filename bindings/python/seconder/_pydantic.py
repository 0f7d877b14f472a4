"""Values as types of pydantic, such as the response models of FastAPI."""

from __future__ import annotations

import typing

from pydantic_core import core_schema

from seconder._value import _MISSING

if typing.TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler

    from seconder._value import Value


MASK = "**********"
"""Replaces a secret, as in pydantic's own SecretStr. No option accepts it, so an object that is loaded again without
its secret fails when a service is opened."""


def schema(kind: type[Value], handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
    """Returns the schema of a class of values. Its fields have the types of their annotations."""
    hints = typing.get_type_hints(kind)
    fields, shown = [], {}
    for name, each in kind._fields.items():
        of_field = handler.generate_schema(hints[name])
        shown[name] = core_schema.typed_dict_field(of_field)
        if each.made is not None:
            of_field = core_schema.with_default_schema(of_field, default_factory=each.made)
        elif each.default is not _MISSING:
            of_field = core_schema.with_default_schema(of_field, default=each.default)
        fields.append(core_schema.dataclass_field(name, of_field, kw_only=each.keyword))

    def dumped(value: Value) -> dict[str, object]:
        fields = {name: getattr(value, name) for name in kind._fields}
        secret = [name for name, each in kind._fields.items() if each.secret and fields[name]]
        return {**fields, **dict.fromkeys(secret, MASK)}

    # Pydantic reads the fields of real dataclasses alone.
    dumping = core_schema.plain_serializer_function_ser_schema(
        dumped, return_schema=core_schema.typed_dict_schema(shown, cls_name=kind.__name__)
    )
    schema = core_schema.dataclass_schema(
        kind,
        core_schema.dataclass_args_schema(kind.__name__, fields),
        list(kind._fields),
        slots=True,
        frozen=True,
        ref=f"{kind.__module__}.{kind.__qualname__}",
        serialization=dumping,
    )
    if not hasattr(kind, "_check"):
        return schema
    # Pydantic sets the fields itself. A copy is made by the class, which checks them.
    return core_schema.no_info_after_validator_function(lambda value: value.__replace__(), schema)
