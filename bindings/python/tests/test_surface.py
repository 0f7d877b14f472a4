"""The public API: signatures, names and documentation."""

from __future__ import annotations

import importlib.metadata
import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import GROUPS, holder

import seconder
from seconder import _seconder, aio, enums, results, typed

CAPTURED: Any = {"capture_output": True, "text": True, "timeout": 60}
# For use without site, so that nothing else is imported before.
PATH = f"import sys; sys.path.insert(0, {str(Path(seconder.__file__).parents[1])!r}); "

REQUIRED = {
    "create_user": ["email"],
    "request_sms": ["user_id"],
    "request_call": ["user_id"],
    "verify": ["user_id", "token"],
    "delete_user": ["user_id"],
    "register_activity": ["user_id", "type"],
    "app_details": [],
    "user_status": ["user_id"],
    "app_stats": [],
    "start_phone_verification": ["via", "phone_number", "country_code"],
    "phone_info": ["phone_number", "country_code"],
    "create_approval": ["user_id", "message"],
    "check_approval": ["uuid"],
    "check_phone_verification": ["phone_number", "country_code", "verification_code"],
    "phone_verification_status": [],
    "enrol_authenticator": ["user_id"],
    "find_user": ["login"],
    "set_login": ["user_id", "login"],
    "remove_login": ["login"],
    "create_recovery_codes": ["user_id"],
    "prepare_offline": ["user_id", "token"],
    "report_offline": ["user_id", "authenticator_id", "logins"],
    "confirm_authenticator": ["user_id", "code"],
    "remove_authenticator": ["user_id", "authenticator_id"],
    "devices": ["user_id"],
    "remove_device": ["user_id", "device_id"],
    "remember": ["user_id"],
    "recognise": ["user_id", "token"],
    "forget": ["user_id"],
    "unlock_user": ["user_id"],
    "invite_device": ["user_id"],
    "set_number": ["user_id", "phone_number", "country_code", "verification_code"],
}

# A user may have no number.
POSITIONAL = {"create_user": ("cellphone", "country_code")}


def test_every_call_of_the_interface_exists() -> None:
    assert list(REQUIRED) == _seconder.CALLS


@pytest.mark.parametrize("name", _seconder.CALLS)
def test_required_parameters_come_first_and_options_are_keywords(name: str) -> None:
    parameters = list(inspect.signature(getattr(holder(name), name)).parameters.values())[1:]
    required = [each.name for each in parameters if each.default is each.empty]
    assert required == REQUIRED[name]
    for each in parameters:
        by_name = each.kind is each.KEYWORD_ONLY
        optional = each.default is not each.empty and each.name not in POSITIONAL.get(name, ())
        assert by_name is optional, each


def functions() -> list[tuple[str, Callable[..., Any]]]:
    """All public functions, and the methods of all public classes."""
    places = [seconder, seconder.callback, seconder.totp]
    parts = [seconder.admin.Admin, seconder.machines.Machines, aio.AsyncAdmin, aio.AsyncMachines]
    names: list[tuple[str, object, str]] = [
        (place.__name__, place, name) for place in places for name in list(place.__all__)
    ]
    for part in parts:
        names += [(part.__name__, part, own) for own in dir(part) if not own.startswith("_")]
    for _, place, name in list(names):
        each = getattr(place, name)
        if inspect.isclass(each):
            names += [(name, each, own) for own in dir(each) if not own.startswith("_")]
    found = ((f"{place}.{name}", getattr(holder, name)) for place, holder, name in names)
    return [
        (name, each)
        for name, each in found
        if inspect.isroutine(each) and str(getattr(each, "__module__", "")).startswith("seconder")
    ]


def test_everything_public_is_documented() -> None:
    for name in seconder.__all__:
        assert name == "__version__" or inspect.getdoc(getattr(seconder, name)), name
    assert len(functions()) > 40
    for name, function in functions():
        text = inspect.getdoc(function)
        assert text, name
        if text.startswith(("As :meth:", "See :meth:")):
            continue
        parameters = set(inspect.signature(function).parameters) - {"self"}
        if function is seconder.open_async:
            parameters = {"threads"}
        for parameter in parameters:
            assert f"    {parameter}: " in text, (name, parameter)
        for part in ["Args:"] * bool(parameters) + [">>>"]:
            assert part in text, f"{name} has no {part}"
        returned = inspect.signature(function).return_annotation
        assert returned == "None" or "Returns:" in text or name.endswith("to_dict"), name


def test_async_methods_have_the_same_signatures() -> None:
    def shown(kind: type) -> dict[str, Any]:
        own = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}
        return {
            name: str(inspect.signature(each)).replace(
                "AsyncGenerator[AuditPage, None]", "Iterator[AuditPage]"
            )
            for name, each in own.items()
            if not isinstance(each, property)
        }

    of_asyncio = (seconder.AsyncService, aio.AsyncAdmin, aio.AsyncMachines)
    for kind, awaited_kind in zip(GROUPS, of_asyncio):
        assert shown(awaited_kind) == shown(kind)
        for name in shown(kind).keys() - {"audit_pages"}:
            awaited = inspect.iscoroutinefunction(getattr(awaited_kind, name))
            assert awaited is not (name.startswith("with_") or name == "cancel"), name
    assert inspect.isasyncgenfunction(aio.AsyncAdmin.audit_pages)
    assert inspect.isgeneratorfunction(seconder.admin.Admin.audit_pages)
    opened = inspect.signature(seconder.open_async)
    settings = [each for name, each in opened.parameters.items() if name != "threads"]
    assert settings == list(inspect.signature(seconder.open).parameters.values())


def test_options_are_keywords() -> None:
    for name, function in functions():
        for each in inspect.signature(function).parameters.values():
            # The meaning of these is plain without their names.
            plain = each.name in ("at", "budget")
            plain |= each.name in POSITIONAL.get(name.split(".")[-1], ())
            optional = each.default is not each.empty and not plain
            assert not optional or each.kind is each.KEYWORD_ONLY, (name, each)


def test_the_package_has_few_names() -> None:
    public = [name for name in dir(seconder) if not name.startswith("__")]
    assert set(public) == {*seconder.__all__, "open"} - {"__version__"} and len(public) <= 45
    own: dict[str, Any] = {}
    exec("from seconder import *", own)
    assert "open" not in own and own["Service"] is seconder.Service
    assert len(inspect.signature(seconder.open).parameters) <= 12
    assert len(inspect.signature(seconder.open_async).parameters) <= 12


def test_everything_generated_is_documented() -> None:
    for module in (enums, results, typed):
        own = [name for name, each in vars(module).items() if inspect.isclass(each)]
        names = {name for name in own if getattr(module, name).__module__ == module.__name__}
        assert names and all(getattr(module, name).__doc__ for name in names), module


def test_the_package_imports_little() -> None:
    slow = ["asyncio", "dataclasses", "inspect", "json", "re", "threading", "typing", "datetime"]
    program = f"import sys, seconder; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-S", "-c", PATH + program], **CAPTURED)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_unknown_names_raise_attribute_errors() -> None:
    for place in (seconder, seconder.callback):
        with pytest.raises(AttributeError, match="perhaps"):
            place.perhaps  # noqa: B018
    assert "AsyncService" in dir(seconder) and seconder.AsyncService is seconder.aio.AsyncService


def test_the_version_is_that_of_the_distribution() -> None:
    assert seconder.__version__ == importlib.metadata.version("seconder")


def test_the_package_is_typed() -> None:
    assert Path(seconder.__file__).with_name("py.typed").exists()
