"""What programs see: signatures, names, documentation."""

from __future__ import annotations

import importlib.metadata
import inspect
from pathlib import Path

import pytest

import seconder
from seconder import _seconder

REQUIRED = {
    "create_user": ["email", "cellphone", "country_code"],
    "request_sms": ["svc_id"],
    "request_call": ["svc_id"],
    "verify": ["token", "svc_id"],
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
    "enrol_authenticator": ["user_id"],
}


def test_every_call_of_the_interface_is_here() -> None:
    assert list(REQUIRED) == _seconder.CALLS


@pytest.mark.parametrize("name", _seconder.CALLS)
def test_what_is_required_comes_first_and_the_rest_by_name(name: str) -> None:
    parameters = list(inspect.signature(getattr(seconder.Service, name)).parameters.values())[1:]
    required = [each.name for each in parameters if each.default is each.empty]
    assert required == REQUIRED[name]
    for each in parameters:
        by_name = each.kind is each.KEYWORD_ONLY
        assert by_name is (each.default is not each.empty), each


def test_everything_public_is_documented() -> None:
    for name in seconder.__all__:
        each = getattr(seconder, name)
        assert name == "__version__" or inspect.getdoc(each), name
        if inspect.isclass(each) and each.__module__.startswith("seconder"):
            own = inspect.getmembers(each, inspect.isfunction)
            for method, function in own:
                assert method.startswith("_") or inspect.getdoc(function), (name, method)


def test_the_version_is_one() -> None:
    assert seconder.__version__ == importlib.metadata.version("seconder")


def test_the_package_is_typed() -> None:
    assert Path(seconder.__file__).with_name("py.typed").exists()
