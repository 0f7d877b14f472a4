"""Annotations, as frameworks evaluate them."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import TypeAdapter, ValidationError
from test_results import SAMPLES

import seconder
from seconder import aio, options, records, testing, typed
from seconder.results import Result

MODULES = [
    *(seconder, seconder.admin, aio, seconder.callback, seconder.enums, seconder.errors),
    *(seconder.machines, options, seconder.outcomes, records, seconder.results, testing),
    *(seconder.totp, typed),
]


def public() -> Iterator[tuple[str, Any]]:
    """The public classes and functions of the modules, and the methods of the classes."""
    for module in MODULES:
        for name in dir(module):
            each = getattr(module, name)
            if name.startswith("_") or not callable(each):
                continue
            if not str(getattr(each, "__module__", "")).startswith("seconder"):
                continue
            yield f"{module.__name__}.{name}", each
            for own in dir(each) if inspect.isclass(each) else ():
                if own == "__init__" and inspect.isfunction(each.__init__):
                    yield f"{module.__name__}.{name}.__init__", each.__init__
                member = inspect.getattr_static(each, own)
                member = member.fget if isinstance(member, property) else member
                member = getattr(member, "__func__", member)
                if not own.startswith("_") and inspect.isfunction(member):
                    yield f"{module.__name__}.{name}.{own}", member


def test_annotations_of_all_public_names_can_be_evaluated() -> None:
    found = dict(public())
    # Decorators of the package, which modules import.
    own = [name for name in found if name.rpartition(".")[2] in ("guarded", "guarded_class", "opened")]
    for name in found.keys() - set(own):
        typing.get_type_hints(found[name])
        if name.endswith("__init__") or inspect.isfunction(found[name]):
            inspect.signature(found[name], eval_str=True)
    assert len(found) > 350


def test_signatures_of_values_have_the_types_of_all_fields() -> None:
    signature = inspect.signature(seconder.ClientOptions, eval_str=True)
    assert signature.parameters["proxy"].annotation == (str | None)
    # A field of its own, and one of a base in another module.
    hints = typing.get_type_hints(seconder.results.UserCreated.__init__)
    assert hints["user_id"] is int and hints["extra"] == Mapping[str, Any]


def test_a_class_of_another_module_may_have_more_fields() -> None:
    class Sent(seconder.results.UserCreated):
        at: Iterator[str] | None = None

    assert typing.get_type_hints(Sent.__init__)["at"] == Iterator[str] | None
    assert Sent(7, at=None).extra == {}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample).__name__)
def test_a_result_is_a_response_model(sample: Result) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(type(sample))
    assert adapter.validate_json(adapter.dump_json(sample)) == sample
    assert adapter.json_schema()["title"] == type(sample).__name__
    app = FastAPI()

    @app.get("/", response_model=type(sample))
    def get() -> Any:
        return sample

    assert TestClient(app).get("/").json() == adapter.dump_python(sample, mode="json")


def test_what_a_class_rejects_is_no_value_of_its_type() -> None:
    adapter = TypeAdapter(seconder.Names)
    assert adapter.validate_python({"word": "acme"}) == seconder.Names("acme")
    with pytest.raises(ValidationError):
        adapter.validate_python({"word": "no/word"})


def test_options_are_dumped_without_secrets() -> None:
    options = seconder.ClientOptions(proxy="http://ada:pass-word@proxy:3128", pins=["a"])
    adapter = TypeAdapter(seconder.ClientOptions)
    for dumped in (adapter.dump_json(options).decode(), str(adapter.dump_python(options)), repr(options)):
        assert "pass-word" not in dumped and "ada" not in dumped
    masked = adapter.dump_json(options)
    assert b'"proxy":"**********","name_servers"' in masked
    assert b'"proxy":null' in adapter.dump_json(seconder.ClientOptions())
    with pytest.raises(seconder.InvalidArgument, match="proxy"):
        seconder.open("https://a.example", api_key="k", client=adapter.validate_json(masked))
    assert adapter.validate_python({"proxy": options.proxy}).proxy == options.proxy


def test_options_have_a_hash() -> None:
    assert hash(seconder.ClientOptions(pins=["a"])) == hash(seconder.ClientOptions(pins=["a"]))


def test_an_endpoint_returns_what_a_call_returned() -> None:
    app = FastAPI()
    service = seconder.open("sandbox:")

    @app.post("/users")
    def enrol(email: str) -> seconder.results.UserCreated:
        return service.create_user(email, "555-010-0123", 1)

    client = TestClient(app)
    reply = client.post("/users", params={"email": "ada@example.com"}).json()
    assert reply["user_id"] == 1 and reply["created"] is True
    shown = client.get("/openapi.json").json()["components"]["schemas"]["UserCreated"]
    assert shown["properties"]["user_id"] == {"type": "integer", "title": "User Id"}
    service.close()
