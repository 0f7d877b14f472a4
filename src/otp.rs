//! Codes of authenticator apps (RFC 6238): generating them, accepting each once, and the `otpauth:`
//! URI that carries a secret into an app. The caller provides the time, and stores the last step
//! that was used.

use crate::model::{Secret, Token};
use crate::wire::form;
use crate::{Error, Result};
use std::fmt;
use std::str::FromStr;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The prefix of the URI of a secret, in upper or lower case.
const URI: &str = "otpauth://totp/";

/// A secret shared by an authenticator app and a service, and how codes are derived from it.
#[derive(Clone)]
pub struct Totp {
    secret: Zeroizing<Vec<u8>>,
    algorithm: Algorithm,
    digits: u8,
    period: u64,
    codes: totp_rs::Totp,
}

/// The hash function of the codes. Most apps support only SHA-1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// HMAC-SHA-1, the default of RFC 6238.
    #[default]
    Sha1,
    /// HMAC-SHA-256.
    Sha256,
    /// HMAC-SHA-512.
    Sha512,
}

/// The result of checking a code.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// The code does not match any of the current steps.
    None,
    /// The code belongs to a step that was already used, or to an earlier one.
    Used,
    /// The code is right and was never accepted before. Store the step, and pass it as `last_step`
    /// from now on.
    Step(u64),
}

impl Algorithm {
    /// Returns the name in an `otpauth:` URI.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Sha1 => "SHA1",
            Algorithm::Sha256 => "SHA256",
            Algorithm::Sha512 => "SHA512",
        }
    }
}

impl FromStr for Algorithm {
    type Err = Error;

    /// Reads the name in any case, also as other programs write it: `SHA-256` and `HMACSHA256`.
    fn from_str(text: &str) -> Result<Algorithm> {
        let name = text.to_ascii_uppercase().replace('-', "");
        let name = name.strip_prefix("HMAC").unwrap_or(&name);
        let all = [Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512];
        let found = all.into_iter().find(|algorithm| algorithm.name() == name);
        found.ok_or_else(|| Error::invalid_argument("algorithm", "must be SHA1, SHA256 or SHA512"))
    }
}

/// Writes the bytes of a secret in Base32 (RFC 4648, section 6), without padding.
pub fn encode_secret(secret: &[u8]) -> Secret {
    Secret::new(totp_rs::Secret::from(secret).to_base32())
}

/// Reads the bytes of a secret from Base32. Lower case, padding, and white space and dashes between
/// letters are accepted, and so are bits at the end that belong to no byte, which other programs leave.
/// `None` for other characters, and for a number of letters that no bytes have.
pub fn decode_secret(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let is_letter = |letter: &char| !letter.is_whitespace() && *letter != '-';
    let mut letters = Zeroizing::new(String::with_capacity(text.len()));
    letters.extend(text.chars().filter(is_letter).map(|letter| letter.to_ascii_uppercase()));
    let letters = letters.trim_end_matches('=');
    // These have a letter that adds no byte.
    if matches!(letters.len() % 8, 1 | 3 | 6) {
        return None;
    }
    let secret = totp_rs::Secret::try_from_base32(letters).ok()?;
    Some(Zeroizing::new(secret.as_bytes().to_vec()))
}

impl Totp {
    /// Codes of 6 to 8 digits that change every `period` seconds (1 to 3600), derived from a secret
    /// of 10 to 128 bytes. A new secret should have 20: RFC 4226, section 4, requires 16, and shorter
    /// ones are accepted because users have them in their apps.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] names the parameter that is out of range.
    pub fn new(secret: &[u8], algorithm: Algorithm, digits: u8, period: u64) -> Result<Totp> {
        if !(10..=128).contains(&secret.len()) {
            return Err(Error::invalid_argument("secret", "must have 10 to 128 bytes"));
        }
        if !(6..=8).contains(&digits) {
            return Err(Error::invalid_argument("digits", "must be 6, 7 or 8"));
        }
        if !(1..=3600).contains(&period) {
            return Err(Error::invalid_argument("period", "must be 1 to 3600 seconds"));
        }
        let codes = totp_rs::Builder::new()
            .with_algorithm(match algorithm {
                Algorithm::Sha1 => totp_rs::Algorithm::SHA1,
                Algorithm::Sha256 => totp_rs::Algorithm::SHA256,
                Algorithm::Sha512 => totp_rs::Algorithm::SHA512,
            })
            .with_digits(digits)
            .with_step_duration(period)
            .with_secret(secret)
            // The other function rejects secrets of less than 16 bytes.
            .build_noncompliant();
        Ok(Totp { secret: Zeroizing::new(secret.to_vec()), algorithm, digits, period, codes })
    }

    /// Reads an `otpauth:` URI, in any case of its scheme and type. The secret may be written as for
    /// [`decode_secret`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it is not `otpauth://totp/…` with a secret in Base32, or if a
    /// value is out of range.
    pub fn from_uri(uri: &str) -> Result<Totp> {
        let bad = |reason: &'static str| Error::invalid_argument("uri", reason);
        let (_, query) = uri
            .trim()
            .split_at_checked(URI.len())
            .filter(|(start, _)| start.eq_ignore_ascii_case(URI))
            .and_then(|(_, rest)| rest.split_once('?'))
            .ok_or_else(|| bad("must begin with otpauth://totp/ and have a secret"))?;
        let params = form::read(query)?;
        let text = |name: &str| params.get(name).and_then(|value| value.as_str());
        let number = |name: &str, or: u64| match text(name) {
            Some(text) => text.parse().map_err(|_| bad("has an invalid digits or period value")),
            None => Ok(or),
        };
        let secret = text("secret").and_then(decode_secret);
        let secret = secret.ok_or_else(|| bad("must have a secret in Base32"))?;
        let algorithm = text("algorithm").map_or(Ok(Algorithm::Sha1), str::parse);
        let algorithm =
            algorithm.map_err(|_| bad("must use SHA1, SHA256 or SHA512 as its algorithm"))?;
        // A number that does not fit a u8 becomes one that `new` rejects.
        let digits = u8::try_from(number("digits", 6)?).unwrap_or(u8::MAX);
        Totp::new(&secret, algorithm, digits, number("period", 30)?)
    }

    /// Returns the URI that carries the secret into an app.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an issuer or a label with a colon. It separates the two, and some
    /// apps do not read the URI if it is there once more, however it is escaped.
    pub fn uri(&self, issuer: &str, label: &str) -> Result<Secret> {
        for (name, text) in [("issuer", issuer), ("label", label)] {
            if text.contains(':') {
                let reason = "must not contain a colon: apps take it for the end of the issuer";
                return Err(Error::invalid_argument(name, reason));
            }
        }
        Ok(Secret::new(format!(
            "otpauth://totp/{issuer}:{label}?secret={secret}&issuer={issuer}&algorithm={algorithm}\
             &digits={digits}&period={period}",
            issuer = form::escape(issuer),
            label = form::escape(label),
            secret = encode_secret(&self.secret).expose(),
            algorithm = self.algorithm.name(),
            digits = self.digits,
            period = self.period,
        )))
    }

    /// Returns the secret's bytes, for storage.
    pub fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// Returns the hash function of the codes.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the number of digits of a code.
    pub fn digits(&self) -> u8 {
        self.digits
    }

    /// Returns the time for which an app shows a code, in seconds.
    pub fn period(&self) -> u64 {
        self.period
    }

    /// Returns the code that an app shows at a given time, in Unix seconds.
    pub fn code(&self, at: u64) -> Secret {
        Secret::new(self.codes.generate(at).to_string())
    }

    /// Checks a code at a given time, in Unix seconds. The steps immediately before and after are
    /// accepted too, to allow for clock drift. A step that is not after `last_step` is never
    /// accepted. A code that belongs to several of the steps is accepted for the latest one, so that
    /// it is accepted once.
    ///
    /// The running time reveals nothing about a wrong code.
    pub fn check(&self, token: &Token, at: u64, last_step: Option<u64>) -> Match {
        self.check_unless(token, at, |step| last_step.is_some_and(|last| step <= last))
    }

    /// The same, with the steps that were used.
    pub(crate) fn check_unless(
        &self,
        token: &Token,
        at: u64,
        is_used: impl Fn(u64) -> bool,
    ) -> Match {
        let now = at / self.period;
        let mut found = Match::None;
        for step in now.saturating_sub(1)..=now.saturating_add(1) {
            let code = self.codes.generate(step.saturating_mul(self.period)).to_string();
            let code = Zeroizing::new(code);
            if bool::from(code.as_bytes().ct_eq(token.as_str().as_bytes())) {
                found = match (is_used(step), found) {
                    (false, _) => Match::Step(step),
                    (true, Match::None) => Match::Used,
                    (true, earlier) => earlier,
                };
            }
        }
        found
    }
}

impl fmt::Debug for Totp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Totp");
        fields.field("digits", &self.digits).field("period", &self.period).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(secret: Secret) -> Token {
        secret.expose().parse().unwrap()
    }

    #[test]
    fn rfc_6238_appendix_b() {
        let seed = |length: usize| "1234567890".repeat(7).into_bytes()[..length].to_vec();
        for (algorithm, length, codes) in [
            (Algorithm::Sha1, 20, ["94287082", "07081804", "14050471", "89005924", "69279037"]),
            (Algorithm::Sha256, 32, ["46119246", "68084774", "67062674", "91819424", "90698825"]),
            (Algorithm::Sha512, 64, ["90693936", "25091201", "99943326", "93441116", "38618901"]),
        ] {
            let totp = Totp::new(&seed(length), algorithm, 8, 30).unwrap();
            for (at, code) in [59, 1111111109, 1111111111, 1234567890, 2000000000].iter().zip(codes)
            {
                assert_eq!(totp.code(*at).expose(), code, "{algorithm:?} {at}");
            }
        }
    }

    #[test]
    fn a_step_is_accepted_once_and_never_an_earlier_one() {
        let totp = Totp::new(&[7; 20], Algorithm::Sha1, 6, 30).unwrap();
        let code = token(totp.code(3000));
        assert_eq!(totp.check(&code, 3000, None), Match::Step(100));
        assert_eq!(totp.check(&code, 3030, None), Match::Step(100));
        assert_eq!(totp.check(&code, 2970, None), Match::Step(100));
        assert_eq!(totp.check(&code, 3060, None), Match::None);
        assert_eq!(totp.check(&code, 3000, Some(100)), Match::Used);
        assert_eq!(totp.check(&code, 3000, Some(101)), Match::Used);
        assert_eq!(totp.check(&code, 3000, Some(99)), Match::Step(100));
        assert_eq!(totp.check(&"1234567".parse().unwrap(), 3000, None), Match::None);
    }

    #[test]
    fn a_code_of_two_steps_is_accepted_once_if_one_of_them_is_unused() {
        let totp = Totp::new(&[7; 20], Algorithm::Sha1, 6, 30).unwrap();
        for [first, last] in [[320112, 320113], [1300330, 1300332]] {
            let code = token(totp.code(first * 30));
            assert_eq!(totp.code(last * 30).expose(), code.as_str());
            let at = (last - 1) * 30;
            let check = |last_step| totp.check(&code, at, last_step);
            for unused in [None, Some(first - 1), Some(first)] {
                assert_eq!(check(unused), Match::Step(last), "{unused:?}");
            }
            assert_eq!(check(Some(last)), Match::Used);
            let but = |used| totp.check_unless(&code, at, |step| step == used);
            assert_eq!((but(first), but(last)), (Match::Step(last), Match::Step(first)));
        }
    }

    #[test]
    fn rfc_4648_section_10() {
        for (plain, text) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(encode_secret(plain.as_bytes()).expose(), text);
            assert_eq!(*decode_secret(text).unwrap(), plain.as_bytes());
        }
        for good in ["mzxw 6ytb-OI======", " MZXW6YTBOI====== ", "MZXW\u{a0}6YTB\nOI"] {
            assert_eq!(*decode_secret(good).unwrap(), b"foobar", "{good}");
        }
        // Other programs leave bits at the end that belong to no byte.
        for loose in ["MZXW6YTBOJ", "mzxw6ytbp7======"] {
            assert_eq!(&decode_secret(loose).unwrap()[..5], b"fooba", "{loose}");
        }
        assert_eq!(decode_secret("GEZDGNBVGY3TQOJQGEZDGNBVGZ").unwrap().len(), 16);
        for bad in ["M", "MZ1", "MZ!", "MZXW6YTBO", "MZX", "MZXW6Y", "MÄ", "MY==MY=="] {
            assert!(decode_secret(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_uri_round_trips() {
        let totp = Totp::new(&[9; 20], Algorithm::Sha1, 7, 10).unwrap();
        let uri = totp.uri("Ada & Co", "ada@example.com").unwrap();
        let read = Totp::from_uri(uri.expose()).unwrap();
        assert_eq!((read.secret(), read.digits(), read.period()), (totp.secret(), 7, 10));
        for bad in
            ["", "otpauth://hotp/x?secret=GE", "otpauth://totp/x", "otpauth://totp/x?secret=1"]
        {
            assert!(Totp::from_uri(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn uris_of_other_programs_are_read() {
        // A key of 80 bits, as many apps have.
        for query in [
            "secret=GEZDGNBVGY3TQOJQ",
            "secret=gezdgnbvgy3tqojq&issuer=Example",
            "secret=gezd+gnbv%20GY3T QOJQ",
            "secret=GEZD-GNBV-GY3T-QOJQ&algorithm=sha1",
            "secret=GEZDGNBVGY3TQOJQ&algorithm=SHA-1&digits=6&period=30",
            "algorithm=HMACSHA1&secret=GEZDGNBVGY3TQOJQ",
        ] {
            for start in ["otpauth://totp/", "OTPAUTH://TOTP/", " otpauth://Totp/Example:"] {
                let read = Totp::from_uri(&format!("{start}ada?{query}")).unwrap();
                assert_eq!(read.secret(), b"1234567890", "{start} {query}");
                assert_eq!((read.digits(), read.period()), (6, 30));
            }
        }
        for padded in ["GEZDGNBVGY3TQOJQGE======", "gezdgnbvgy3tqojqge%3D%3D%3D%3d%3d%3D"] {
            let uri = format!("otpauth://totp/ada?secret={padded}&algorithm=SHA-256");
            let read = Totp::from_uri(&uri).unwrap();
            assert_eq!((read.secret(), read.algorithm()), (&b"12345678901"[..], Algorithm::Sha256));
        }
    }

    #[test]
    fn secrets_have_80_to_1024_bits() {
        let of = |bytes| Totp::new(&vec![7; bytes], Algorithm::Sha1, 6, 30);
        for (bytes, good) in [(0, false), (9, false), (10, true), (128, true), (129, false)] {
            assert_eq!(of(bytes).is_ok(), good, "{bytes}");
        }
    }

    #[test]
    fn a_colon_is_in_neither_an_issuer_nor_a_label() {
        let totp = Totp::new(&[9; 20], Algorithm::Sha1, 6, 30).unwrap();
        for (issuer, label, named) in
            [("Ex:ample", "ada", "issuer"), ("Example", "user:ada", "label")]
        {
            let error = totp.uri(issuer, label).unwrap_err();
            assert!(error.to_string().contains(named), "{error}");
        }
    }
}
