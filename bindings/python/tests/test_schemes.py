"""A setting that has no effect with the URL is rejected."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from conftest import open_with

import seconder

SOCKET = "unix:/no/such.sock"
OF_THE_CLIENT: dict[str, Any] = {
    "operator_token": "sop_token",
    "timeout": 10.0,
    "repeats": "questions",
    "ca_file": "/no/such/file",
    "pins": ["sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="],
    "client_certificate": "/no/such/file",
    "client_key": "/no/such/file",
    "proxy": "http://127.0.0.1:1",
    "name_servers": ["192.0.2.1"],
    "service_uid": 1000,
    "allow_loopback_http": True,
    "format": "json",
    "generation": "current",
    "nested_as_json": True,
}
FOR_ENGINES_TOO = ("proxy", "name_servers")
FOR_EVERY_CLIENT = ("timeout", "repeats", "format", "generation", "nested_as_json")
OF_A_DATABASE: dict[str, Any] = {"must_exist": True, "keyring": "ring"}
OF_AN_ENGINE: dict[str, Any] = {
    "application_name": "Example",
    "callback_url": "",
    "callback_method": "post",
    "callback_ca_file": "",
    "callback_private": False,
    "install_link": "",
    "replies": "current",
    "plan": "annual",
    "white_label": False,
    "sms_enabled": True,
    "force_codes": False,
    "logo": "",
    "approval_seconds": 300,
    "token_length": 7,
    "authenticator_digits": 6,
    "authenticator_period": 30,
    "offline_days": 1,
    "limits": {"number_day": 9},
    "texts": {},
    "otp_domain": "",
    "push_hosts": "push.example",
    "deliver": lambda message: None,
    "post": lambda callback: None,
    "lookup": lambda number: None,
}


def test_every_setting_is_here() -> None:
    parameters = list(inspect.signature(seconder.open).parameters)
    for name, kind in (("client", seconder.ClientOptions), ("engine", seconder.EngineOptions)):
        parameters.remove(name)
        parameters += kind._fields
    # The limit of `deliver` has no effect without it, and every service has calls.
    for of_python in ("deliver_timeout", "on_call"):
        parameters.remove(of_python)
    listed = ["url", "api_key", *OF_THE_CLIENT, "names", *OF_A_DATABASE, *OF_AN_ENGINE]
    assert sorted(parameters) == sorted(listed)


@pytest.mark.parametrize("name", [*OF_THE_CLIENT, *OF_AN_ENGINE])
def test_a_setting_without_effect_is_rejected(name: str) -> None:
    of_the_client = name in OF_THE_CLIENT
    value = (OF_THE_CLIENT | OF_AN_ENGINE)[name]
    others = ["sandbox:"] if of_the_client else ["https://2fa.example", SOCKET]
    if name in FOR_ENGINES_TOO:
        open_with("sandbox:", **{name: value}).close()
        others = []
    if of_the_client and name not in FOR_EVERY_CLIENT:
        others += ["https://2fa.example" if name == "service_uid" else SOCKET]
    for url in others:
        with pytest.raises(seconder.InvalidArgument, match="has no effect with") as caught:
            open_with(url, api_key=_key(url), **{name: value})
        assert caught.value.parameter == name


def test_a_service_on_this_machine_takes_no_key() -> None:
    with pytest.raises(seconder.InvalidArgument, match="has no effect with unix:") as caught:
        seconder.open(SOCKET, api_key="key")
    assert caught.value.parameter == "api_key"


@pytest.mark.parametrize("name", [*FOR_EVERY_CLIENT, "service_uid"])
def test_what_a_service_on_this_machine_takes(name: str) -> None:
    open_with(SOCKET, **{name: OF_THE_CLIENT[name]}).close()


def _key(url: str) -> str | None:
    return None if url == SOCKET else "key"


@pytest.mark.parametrize("name", OF_A_DATABASE)
def test_a_setting_of_a_database_is_for_no_other_service(name: str) -> None:
    for url in "sandbox:", "https://2fa.example", SOCKET:
        with pytest.raises(seconder.InvalidArgument, match="has no effect with") as caught:
            open_with(url, api_key=_key(url), **{name: OF_A_DATABASE[name]})
        assert caught.value.parameter == name


def test_what_was_not_given_is_not_rejected() -> None:
    for url in "sandbox:", "https://2fa.example", SOCKET:
        none: dict[str, Any] = dict.fromkeys(OF_THE_CLIENT | OF_AN_ENGINE | {"keyring": None})
        none |= {"pins": (), "name_servers": (), "allow_loopback_http": False, "must_exist": False}
        open_with(url, api_key=_key(url), **(none | {"nested_as_json": False})).close()
