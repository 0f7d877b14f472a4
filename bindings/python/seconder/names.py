"""The names that differ between services of the interface."""

from __future__ import annotations

from seconder import _seconder
from seconder._value import Value
from seconder.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typing
else:
    from seconder._later import typing


class Names(Value):
    """The names that a service uses in place of those with ``svc`` in the interface document. The
    defaults are the document's.

    Args:
        word: The service's word: headers ``X-Word-…``, ids ``word_id``, the device
            ``word_chrome``. 1 to 32 lower-case letters and digits, starting with a letter.
        push_path: The first part of the paths of approval requests, a word as above. Default
            ``push``.
        header_prefix: The prefix of header names, 1 to 32 letters, digits and dashes.
        id_field: The field with the user's id, in bodies and callbacks.
        chrome_device: The device type of a browser.

    Raises:
        InvalidArgument: A name is invalid; ``parameter`` names it.

    Example:
        >>> names = seconder.Names("acme", push_path="onetouch")
        >>> names.api_key_header, names.signature_header
        ('X-Acme-API-Key', 'X-Acme-Signature')
    """

    word: str = "svc"
    """The service's word."""
    push_path: str | None = None
    """The first part of the paths of approval requests, if it is not ``push``."""
    header_prefix: str | None = None
    """The prefix of header names, if it does not follow from the word."""
    id_field: str | None = None
    """The field with the user's id, if it does not follow from the word."""
    chrome_device: str | None = None
    """The device type of a browser, if it does not follow from the word."""

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
        for name in ("word", "push_path", "header_prefix", "id_field", "chrome_device"):
            given = getattr(self, name)
            if not isinstance(given, str) and (given is not None or name == "word"):
                raise InvalidArgument(f"{name} must be text", parameter=name)
        # The native module validates the names; asking it for the headers is enough to do so.
        try:
            _seconder.headers(_given(self))
        except UnicodeEncodeError:
            raise InvalidArgument(
                "names must be text that UTF-8 can hold", parameter="names"
            ) from None


def _given(names: typing.Any) -> tuple[str, str | None, str | None, str | None, str | None]:
    """Returns the names as the native module takes them."""
    if not isinstance(names, Names):
        raise InvalidArgument("names must be a seconder.Names", parameter="names")
    return (names.word, names.push_path, names.header_prefix, names.id_field, names.chrome_device)
