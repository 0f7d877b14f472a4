//! The ids of users, authenticator apps, devices and approval requests.

use crate::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// A user's id, which the interface calls `svc_id`: a positive 64-bit integer, written in decimal
/// digits without a sign or a leading zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(u64);

/// The id of a registered device, written like a [`UserId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(u64);

/// The id of a user's authenticator app: 1 to 64 letters, digits and dashes of ASCII.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AuthenticatorId(String);

/// An approval request's `uuid`: 1 to 64 letters, digits and dashes of ASCII.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ApprovalId(String);

/// A user's name on machines, as POSIX and directories have it: 1 to 64 letters, digits and the
/// characters `_`, `.`, `@`, `+` and `-` of ASCII, beginning with a letter, a digit or `_`; a `$` may
/// be at the end. Names that differ only in capitals are different names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoginName(String);

macro_rules! number {
    ($($name:ident $parameter:literal;)*) => {$(
        impl $name {
            /// The id as a number, from 1 to 2⁶³ − 1.
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl TryFrom<u64> for $name {
            type Error = Error;
            fn try_from(number: u64) -> Result<$name> {
                match number {
                    1..=0x7fff_ffff_ffff_ffff => Ok($name(number)),
                    _ => Err(Error::invalid_argument(
                        $parameter,
                        "must be from 1 to 9223372036854775807",
                    )),
                }
            }
        }

        impl From<$name> for u64 {
            fn from(id: $name) -> u64 {
                id.0
            }
        }

        impl FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<$name> {
                // `parse` accepts a sign and leading zeros, which would give one id several texts.
                let digits = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
                match text.parse::<u64>() {
                    Ok(number) if digits => <$name as TryFrom<u64>>::try_from(number),
                    _ => Err(Error::invalid_argument(
                        $parameter,
                        "must be a positive whole number",
                    )),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

number! {
    UserId "user_id";
    DeviceId "device_id";
}

macro_rules! word {
    ($($name:ident $parameter:literal;)*) => {$(
        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<$name> {
                let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
                if plain && (1..=64).contains(&text.len()) {
                    return Ok($name(text.to_owned()));
                }
                Err(Error::invalid_argument(
                    $parameter,
                    "must be 1 to 64 letters, digits and dashes",
                ))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

word! {
    ApprovalId "uuid";
    AuthenticatorId "authenticator_id";
}

impl LoginName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LoginName {
    type Err = Error;
    fn from_str(text: &str) -> Result<LoginName> {
        let name = text.strip_suffix('$').unwrap_or(text).as_bytes();
        let begins = name.first().is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        let plain = name.iter().all(|b| b.is_ascii_alphanumeric() || b"_.@+-".contains(b));
        if begins && plain && text.len() <= 64 {
            return Ok(LoginName(text.to_owned()));
        }
        Err(Error::invalid_argument(
            "login",
            "must be 1 to 64 letters, digits, and _ . @ + - (ASCII), beginning with a letter, a digit \
             or _, with $ only at the end",
        ))
    }
}

impl fmt::Display for LoginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

super::serde_by!(from_number, serialize_u64(get): UserId DeviceId);
super::serde_by!(from_text, serialize_str(as_str): ApprovalId AuthenticatorId LoginName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_positive_decimal_numbers() {
        assert_eq!("9223372036854775807".parse::<UserId>().unwrap().get(), i64::MAX as u64);
        for bad in ["", "0", "-1", "+1", "01", "1 ", "1/2", "9223372036854775808", "1e3", "x"] {
            assert!(bad.parse::<UserId>().is_err(), "{bad:?}");
        }
        assert!(UserId::try_from(0).is_err() && UserId::try_from(1 << 63).is_err());
    }

    #[test]
    fn ids_that_are_text_cannot_leave_their_place_in_a_path() {
        assert!("3f05a350-4b2c-0136-f779-12c0c2bf9easd".parse::<ApprovalId>().is_ok());
        for bad in ["", "..", ".", "a/b", "a?b", "a#b", "%2e", "ü", "a b", &"a".repeat(65)] {
            assert!(bad.parse::<ApprovalId>().is_err(), "{bad:?}");
            assert!(bad.parse::<AuthenticatorId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn login_names_cannot_leave_their_place_in_a_path_or_begin_an_option() {
        for good in
            ["ada", "Ada.L", "_x", "0day", "ada@example.com", "a+b-c", "host$", &"a".repeat(64)]
        {
            assert_eq!(good.parse::<LoginName>().unwrap().as_str(), good);
        }
        let bad = [
            "",
            ".",
            "..",
            "-ada",
            "+a",
            "@a",
            "$",
            "a$b",
            "a$$",
            "a/b",
            "../a",
            "a b",
            "a\n",
            "a\0",
            "a%2f",
            "ada\\x",
            "a:b",
            "ü",
            "аda",
            &"a".repeat(65),
        ];
        for bad in bad {
            assert!(bad.parse::<LoginName>().is_err(), "{bad:?}");
        }
    }
}
