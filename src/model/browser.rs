//! The token of a remembered browser.

use super::serde_by;
use crate::Error;
use std::fmt;
use std::str::FromStr;
use zeroize::Zeroizing;

/// The longest token, in bytes: short enough for a cookie among others.
const LONGEST: usize = 200;
/// A replacement for text that cannot be a token. It fits into every format, and no service returns it.
const NONE: &str = "-";

/// The token of a remembered browser, as its cookie holds it: 2 to 200 letters, digits, dashes, dots
/// and underscores of ASCII.
///
/// Every text can be parsed, because the user of the browser can choose the content of its cookie. Any other text
/// becomes a token that is never recognised.
///
/// `Debug` does not show it, and its memory is wiped when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct BrowserToken(Zeroizing<String>);

impl BrowserToken {
    /// Returns the token itself, for a cookie.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the text can be a token.
    pub(crate) fn is_one(&self) -> bool {
        *self.0 != NONE
    }
}

impl From<&str> for BrowserToken {
    fn from(text: &str) -> BrowserToken {
        let fits = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
        let text = if fits && (2..=LONGEST).contains(&text.len()) { text } else { NONE };
        BrowserToken(Zeroizing::new(text.to_owned()))
    }
}

impl FromStr for BrowserToken {
    /// Never returned. It is the type that the parsers of the other values return.
    type Err = Error;
    fn from_str(text: &str) -> Result<BrowserToken, Error> {
        Ok(BrowserToken::from(text))
    }
}

impl fmt::Debug for BrowserToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrowserToken([redacted])")
    }
}

serde_by!(from_text, serialize_str(as_str): BrowserToken);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_token_becomes_one_that_nobody_has() {
        for good in ["ab", "AZaz09-_.", &"a".repeat(200)] {
            let token = BrowserToken::from(good);
            assert!(token.is_one() && token.as_str() == good);
        }
        for bad in ["", "-", "a", "a b", "a\n", "a;b", "a=b", "a/b", "a\0b", "äb", &"a".repeat(201)]
        {
            let token = BrowserToken::from(bad);
            assert!(!token.is_one() && token.as_str() == "-", "{bad:?}");
        }
    }

    #[test]
    fn a_token_does_not_show() {
        assert_eq!(format!("{:?}", BrowserToken::from("secret")), "BrowserToken([redacted])");
    }
}
