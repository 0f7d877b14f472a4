"""Writes phone_prefixes.txt from the numbering plans of libphonenumber: pip install phonenumbers==9.0.42."""

import functools
import itertools
import pathlib
import re

import phonenumbers
from phonenumbers import PhoneMetadata, PhoneNumber, PhoneNumberType

TYPES = [PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE, PhoneNumberType.FIXED_LINE_OR_MOBILE]
# Longer ones select a carrier in Australia, China and Peru, where a shorter one exists.
LONGEST = 5

HEAD = """\
# The regions of the world, by phone_prefixes.py: the calling code, a number with it, and the international
# prefixes by which numbers of other countries are dialled there. Networks of no region have none.
"""


@functools.cache
def prefixes(pattern: str) -> list[str]:
    """All that a pattern matches."""
    lengths = range(1, LONGEST + 1)
    texts = ("".join(t) for length in lengths for t in itertools.product("0123456789", repeat=length))
    return [text for text in texts if re.fullmatch(pattern, text)]


def line(name: str, number: PhoneNumber, dialled: list[str]) -> str:
    national = phonenumbers.national_significant_number(number)
    return " ".join([name, str(number.country_code), national, *dialled])


def lines() -> list[str]:
    found = []
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        examples = (phonenumbers.example_number_for_type(region, kind) for kind in TYPES)
        number = next(filter(None, examples), None) or phonenumbers.example_number(region)
        pattern = PhoneMetadata.metadata_for_region(region).international_prefix
        found.append(line(region, number, prefixes(pattern)))
    for code in sorted(phonenumbers.COUNTRY_CODES_FOR_NON_GEO_REGIONS):
        found.append(line("001", phonenumbers.example_number_for_non_geo_entity(code), []))
    return found


if __name__ == "__main__":
    path = pathlib.Path(__file__).with_suffix(".txt")
    path.write_text(HEAD + "\n".join(lines()) + "\n")
