"""The names that services of the interface choose differently."""

from __future__ import annotations

from seconder import _seconder
from seconder._value import Value
from seconder.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Names(Value):
    """The names that a service uses where the interface document says ``svc``. The default is the
    document's own.

    Args:
        word: The service's word: headers ``X-Word-…``, ids ``word_id``, the device
            ``word_chrome``. 1 to 32 lower-case letters and digits that begin with a letter.
        push_path: The first part of the paths of approval requests, a word as above. Default
            ``push``.
        header_prefix: What the names of headers begin with, 1 to 32 letters, digits and dashes.
        id_field: The field that names a user, in bodies and callbacks.
        chrome_device: The browser among the devices.

    Raises:
        InvalidArgument: A name cannot be one; ``parameter`` says which.

    Example:
        >>> names = seconder.Names("acme", push_path="onetouch")
        >>> names.api_key_header, names.signature_header
        ('X-Acme-API-Key', 'X-Acme-Signature')
    """

    word: str = "svc"
    """The service's word."""
    push_path: str | None = None
    """The first part of the paths of approval requests, where it is not ``push``."""
    header_prefix: str | None = None
    """What the names of headers begin with, where it does not follow from the word."""
    id_field: str | None = None
    """The field that names a user, where it does not follow from the word."""
    chrome_device: str | None = None
    """The browser among the devices, where it does not follow from the word."""

    @property
    def api_key_header(self) -> str:
        """The header that carries the API key (section 5.1)."""
        return _seconder.headers(_given(self))[0]

    @property
    def signature_header(self) -> str:
        """The header that carries a callback's signature (section 5.5)."""
        return _seconder.headers(_given(self))[1]

    @property
    def nonce_header(self) -> str:
        """The header that carries a callback's nonce (section 5.5)."""
        return _seconder.headers(_given(self))[2]

    def _check(self) -> None:
        try:
            _seconder.headers(_given(self))
        except UnicodeEncodeError:
            raise InvalidArgument(
                "names must be text that UTF-8 can hold", parameter="names"
            ) from None


def _given(names: Any) -> tuple[str, str | None, str | None, str | None, str | None]:
    """The names as the native module takes them."""
    if not isinstance(names, Names):
        raise InvalidArgument("names must be a seconder.Names", parameter="names")
    return (names.word, names.push_path, names.header_prefix, names.id_field, names.chrome_device)
