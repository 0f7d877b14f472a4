"""Codes of authenticator apps."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from typing import Any

import pytest

import seconder

URI = "otpauth://totp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"


def test_codes_of_rfc_6238_appendix_b() -> None:
    for at, code in [(59, "94287082"), (1111111109, "07081804"), (2000000000.9, "69279037")]:
        assert seconder.totp.code(f"{URI}&digits=8", at) == code


def test_the_time_is_now_unless_given() -> None:
    for _ in range(3):
        before = int(time.time()) // 30
        code = seconder.totp.code(URI)
        if int(time.time()) // 30 == before:
            break
    assert code == seconder.totp.code(URI, before * 30)


def test_an_invalid_uri_or_time_is_rejected() -> None:
    for uri in ["", "otpauth://hotp/x?secret=GE", "otpauth://totp/x?secret=hush!"]:
        with pytest.raises(seconder.InvalidArgument) as caught:
            seconder.totp.code(uri)
        assert "hush" not in str(caught.value)
    for at in [-1, float("nan"), float("inf"), 2**64]:
        with pytest.raises(seconder.InvalidArgument):
            seconder.totp.code(URI, at)


SECRET = b"12345678901234567890"


def test_a_code_is_right_once_and_steps_only_increase() -> None:
    totp = seconder.totp.Totp(SECRET, digits=6)
    code = totp.code(3000)
    assert totp.check(code, 3000) == totp.check(code, 2970) == totp.check(code, 3030) == 100
    assert totp.check(code, 3000, last_step=99) == 100
    for last_step, reused in [(100, True), (101, True)]:
        with pytest.raises(seconder.TokenInvalid) as caught:
            totp.check(code, 3000, last_step=last_step)
        assert caught.value.reused is reused
    for wrong, at in [(code, 3060), ("1234567", 3000)]:
        with pytest.raises(seconder.TokenInvalid) as caught:
            totp.check(wrong, at)
        assert not caught.value.reused and wrong not in str(caught.value)
    for token in (123456, "12345", "../../1", "１２３４５６", "12345\ud800"):
        with pytest.raises(seconder.InvalidArgument) as rejected:
            totp.check(token, 3000)  # type: ignore[arg-type]
        assert rejected.value.parameter == "token"
    assert totp.check(totp.code()) == pytest.approx(time.time() / 30, abs=2)


@pytest.mark.parametrize("algorithm", list(seconder.enums.Algorithm))
def test_a_uri_carries_all_parameters(algorithm: seconder.enums.Algorithm) -> None:
    totp = seconder.totp.Totp(SECRET * 2, algorithm=algorithm, digits=8, period=10)
    again = seconder.totp.Totp.from_uri(totp.uri("Ada & Co", "ada@example.com"))
    assert again == totp and hash(again) == hash(totp) and again != seconder.totp.Totp(SECRET)
    assert (again.secret, again.algorithm, again.digits, again.period) == (
        SECRET * 2,
        algorithm,
        8,
        10,
    )
    assert again.code(1) == totp.code(9) != totp.code(10)


@pytest.mark.parametrize(
    "uri",
    [
        "OTPAUTH://TOTP/Example:ada?secret=gezdgnbvgy3tqojq",
        "otpauth://totp/ada?secret=GEZD GNBV%20GY3T+QOJQ&algorithm=sha-1",
        "otpauth://totp/ada?secret=GEZDGNBVGY3TQOJQ%3D&issuer=Example",
    ],
)
def test_uris_of_other_programs_are_read(uri: str) -> None:
    assert seconder.totp.Totp.from_uri(uri) == seconder.totp.Totp(b"1234567890")


def test_repr_and_errors_show_no_secret() -> None:
    totp = seconder.totp.Totp(SECRET)
    assert "1234" not in repr(totp) + str(totp) + repr(totp._native)
    with pytest.raises(TypeError):
        pickle.dumps(totp)
    assert seconder.totp.Totp.generate(digits=7) != seconder.totp.Totp.generate(digits=7)


def test_an_argument_out_of_range_is_named() -> None:
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("secret", {"secret": b"short"}),
        ("algorithm", {"algorithm": "MD5"}),
        ("algorithm", {"algorithm": "\ud800"}),
        ("digits", {"digits": 5}),
        ("digits", {"digits": 300}),
        ("digits", {"digits": "6"}),
        ("period", {"period": 0}),
        ("period", {"period": -1}),
    ]
    for parameter, given in wrong:
        with pytest.raises(seconder.InvalidArgument) as caught:
            seconder.totp.Totp(**{"secret": SECRET, **given})
        assert caught.value.parameter == parameter


def test_an_invalid_argument_is_named() -> None:
    totp = seconder.totp.Totp(SECRET)
    half = "\ud800"  # Half of a surrogate pair, which JSON can contain.
    wrong: list[tuple[str, Callable[[], object]]] = [
        ("uri", lambda: seconder.totp.code(half)),
        ("issuer", lambda: totp.uri(half, "ada")),
        ("label", lambda: totp.uri("Example", half)),
        ("issuer", lambda: totp.uri("Example:", "ada")),
        ("label", lambda: totp.uri("Example", "user:ada")),
        ("at", lambda: totp.code(10**400)),
        ("at", lambda: totp.code(float("nan"))),
        ("last_step", lambda: totp.check("123456", last_step=-1)),
        ("last_step", lambda: totp.check("123456", last_step=2**64)),
    ]
    for parameter, call in wrong:
        with pytest.raises(seconder.InvalidArgument) as caught:
            call()
        assert caught.value.parameter == parameter
