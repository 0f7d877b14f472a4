"""Codes of authenticator apps."""

from __future__ import annotations

import time

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


def test_what_cannot_be_right_is_refused() -> None:
    for uri in ["", "otpauth://hotp/x?secret=GE", "otpauth://totp/x?secret=hush!"]:
        with pytest.raises(seconder.InvalidArgument) as caught:
            seconder.totp.code(uri)
        assert "hush" not in str(caught.value)
    for at in [-1, float("nan"), float("inf"), 2**64]:
        with pytest.raises(seconder.InvalidArgument):
            seconder.totp.code(URI, at)
