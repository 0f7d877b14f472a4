//! Tokens, e-mail addresses, actions and other short texts.

use crate::{Error, Result};
use std::fmt;
use zeroize::Zeroizing;

/// The code that a user typed: 6 to 12 ASCII digits. Whitespace is not trimmed. Parsing any other
/// text is [`Error::TokenMalformed`].
///
/// `Debug` does not show it, and its memory is wiped when it is dropped.
///
/// ```
/// use seconder::model::Token;
/// assert!("1234567".parse::<Token>().is_ok());
/// assert!("../sms".parse::<Token>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Zeroizing<String>);

/// The code that was sent to a phone number to verify it: 4 to 10 ASCII digits. Otherwise like a
/// [`Token`].
#[derive(Clone, PartialEq, Eq)]
pub struct VerificationCode(Zeroizing<String>);

/// An e-mail address: one `@` between two parts without whitespace, 254 bytes at most.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Email(String);

/// The action that a code is requested for, such as `pay:4711`: 1 to 128 bytes without control
/// characters.
/// A code sent for one action is valid for that action alone (interface 4.2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Action(String);

/// Text shown to a person: 1 to 1024 bytes, without control characters other than line feed and
/// tab.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DisplayText(String);

/// A secret text, such as an API key or a device's secret. `Debug` does not show it, and its memory
/// is wiped when it is dropped.
#[derive(Clone, Default)]
pub struct Secret(Zeroizing<String>);

impl Token {
    fn check(text: &str) -> Result<()> {
        let right = (6..=12).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        right.then_some(()).ok_or_else(|| {
            Error::token_malformed("token", "must be 6 to 12 digits (0 to 9) and nothing else")
        })
    }
}

impl VerificationCode {
    fn check(text: &str) -> Result<()> {
        let right = (4..=10).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        right.then_some(()).ok_or_else(|| {
            Error::token_malformed(
                "verification_code",
                "must be 4 to 10 digits (0 to 9) and nothing else",
            )
        })
    }
}

impl Email {
    fn check(text: &str) -> Result<()> {
        let parts = text.split_once('@').is_some_and(|(name, host)| {
            !name.is_empty() && !host.is_empty() && !host.contains('@')
        });
        let plain = !text.chars().any(|c| c.is_whitespace() || c.is_control());
        (parts && plain && text.len() <= 254).then_some(()).ok_or_else(|| {
            Error::invalid_argument("email", "is invalid: it must look like name@example.com")
        })
    }
}

impl Action {
    fn check(text: &str) -> Result<()> {
        let right = (1..=128).contains(&text.len()) && !text.chars().any(char::is_control);
        right.then_some(()).ok_or_else(|| {
            Error::invalid_argument("action", "must be 1 to 128 bytes without control characters")
        })
    }
}

impl DisplayText {
    fn check(text: &str) -> Result<()> {
        // Other control characters may begin an escape sequence of a terminal.
        let control = |c: char| c.is_control() && c != '\n' && c != '\t';
        let right = (1..=1024).contains(&text.len()) && !text.chars().any(control);
        right.then_some(()).ok_or_else(|| {
            Error::invalid_argument("text", "must be 1 to 1024 bytes without control characters")
        })
    }
}

impl Secret {
    /// Takes ownership of the text. Copies that the caller keeps are not wiped.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(Zeroizing::new(text.into()))
    }

    /// Returns the secret itself, for a signature, a comparison or a header.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Secret {
    /// Compares in constant time, so that the time taken does not reveal where the two differ.
    fn eq(&self, other: &Secret) -> bool {
        use subtle::ConstantTimeEq;
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for Secret {}

macro_rules! redacted_debug {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "([redacted])"))
            }
        }
    )*};
}

redacted_debug!(Token, VerificationCode, Secret);

macro_rules! text {
    ($($name:ident $from:ident;)*) => {$(
        impl std::str::FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<$name> {
                $name::check(text)?;
                Ok($name($from(text)))
            }
        }

        impl $name {
            /// Returns the text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    )*};
}

fn owned(text: &str) -> String {
    text.to_owned()
}

fn wiped(text: &str) -> Zeroizing<String> {
    Zeroizing::new(text.to_owned())
}

text! {
    Token wiped;
    VerificationCode wiped;
    Email owned;
    Action owned;
    DisplayText owned;
}

impl std::str::FromStr for Secret {
    type Err = Error;
    fn from_str(text: &str) -> Result<Secret> {
        Ok(Secret::new(text))
    }
}

super::serde_by!(from_text, serialize_str(expose): Secret);
super::serde_by!(from_text, serialize_str(as_str): Token VerificationCode Email Action DisplayText);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_ascii_digits_and_nothing_else() {
        for good in ["123456", "0000000", "123456789012"] {
            assert_eq!(good.parse::<Token>().unwrap().as_str(), good);
        }
        let bad = [
            "",
            "12345",
            "1234567890123",
            "../sms",
            "0000000\n",
            "1e5678",
            " 123456",
            "-12345",
            "123456 ",
            "1234567/2",
            "1234567#",
            "١٢٣٤٥٦",
            "１２３４５６７",
            "123\x00456",
            "+123456",
        ];
        for bad in bad {
            assert!(bad.parse::<Token>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn secrets_do_not_show() {
        let shown = format!("{:?} {:?}", "1234567".parse::<Token>(), Secret::new("key"));
        assert_eq!(shown, "Ok(Token([redacted])) Secret([redacted])");
    }

    #[test]
    fn texts_are_bounded_and_without_control_characters() {
        assert!("ada@example.com".parse::<Email>().is_ok());
        for bad in ["", "ada", "@b", "a@", "a@b@c", "a b@c", "a@b\n"] {
            assert!(bad.parse::<Email>().is_err(), "{bad:?}");
        }
        assert!("pay:4711".parse::<Action>().is_ok());
        assert!("".parse::<Action>().is_err() && "a\0".parse::<Action>().is_err());
        assert!("Log in?\nFrom Oslo".parse::<DisplayText>().is_ok());
        assert!("\x1b[2J".parse::<DisplayText>().is_err());
    }
}
