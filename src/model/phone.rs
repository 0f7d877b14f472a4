//! Phone numbers and calling codes, as a caller writes them. Only their syntax is checked here;
//! the numbering plans of the countries are known to the engine alone.

use crate::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// A calling code such as 1, 91 or 54: one to three digits (interface 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CountryCode(u16);

/// A phone number without its calling code: 4 to 15 digits, in groups that dashes, periods or
/// spaces may separate (interface 2.1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PhoneNumber(String);

impl CountryCode {
    /// Returns the code as a number, from 1 to 999.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl TryFrom<u64> for CountryCode {
    type Error = Error;
    fn try_from(number: u64) -> Result<CountryCode> {
        match number {
            1..=999 => Ok(CountryCode(number as u16)),
            _ => {
                Err(Error::invalid_argument("country_code", "must be a calling code from 1 to 999"))
            }
        }
    }
}

impl FromStr for CountryCode {
    type Err = Error;
    fn from_str(text: &str) -> Result<CountryCode> {
        let digits = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
        match text.parse::<u64>() {
            Ok(number) if digits => CountryCode::try_from(number),
            _ => Err(Error::invalid_argument(
                "country_code",
                "must be a calling code, such as 1 or 44",
            )),
        }
    }
}

impl fmt::Display for CountryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PhoneNumber {
    /// Returns the number as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PhoneNumber {
    type Err = Error;
    fn from_str(text: &str) -> Result<PhoneNumber> {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let ends = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_digit());
        let plain = text.bytes().all(|b| b.is_ascii_digit() || b"-. ".contains(&b));
        let framed = ends(text.bytes().next()) && ends(text.bytes().last());
        if plain && framed && (4..=15).contains(&digits) && text.len() <= 32 {
            return Ok(PhoneNumber(text.to_owned()));
        }
        Err(Error::invalid_argument(
            "phone_number",
            "must be a valid phone number: 4 to 15 digits without the country code, in groups \
             separated by dashes, periods, spaces or nothing",
        ))
    }
}

super::serde_by!(from_number, serialize_u64(get): CountryCode);
super::serde_by!(from_text, serialize_str(as_str): PhoneNumber);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_allowed_between_digits_only() {
        for good in ["5550100123", "555-010-0123", "555.010.0123", "555 010 0123", "0171 2345678"] {
            assert!(good.parse::<PhoneNumber>().is_ok(), "{good}");
        }
        let bad = ["", "-555", "555-010-0123 ", "+15550100123", "555/010", "٥٥٥٠١٠", "123", "a"];
        for bad in bad {
            assert!(bad.parse::<PhoneNumber>().is_err(), "{bad}");
        }
        for bad in ["", "0", "01", "+1", "1000", "x", "-1"] {
            assert!(bad.parse::<CountryCode>().is_err(), "{bad}");
        }
    }
}
