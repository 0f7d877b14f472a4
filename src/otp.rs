//! Codes of authenticator apps (RFC 6238): generating them, accepting each once, and the `otpauth:`
//! URI that carries a secret into an app. The caller provides the time, and stores the last step
//! that was used.

use crate::model::{Secret, Token};
use crate::wire::form;
use crate::{Error, Result};
use std::fmt;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

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
    /// HMAC-SHA-256
    Sha256,
    /// HMAC-SHA-512
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
    /// The name in an `otpauth:` URI.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Sha1 => "SHA1",
            Algorithm::Sha256 => "SHA256",
            Algorithm::Sha512 => "SHA512",
        }
    }

    fn named(name: &str) -> Option<Algorithm> {
        let all = [Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512];
        all.into_iter().find(|algorithm| algorithm.name().eq_ignore_ascii_case(name))
    }
}

impl Totp {
    /// Codes of 6 to 8 digits that change every `period` seconds (1 to 3600), derived from a secret
    /// of 16 to 128 bytes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] names the parameter that is out of range.
    pub fn new(secret: &[u8], algorithm: Algorithm, digits: u8, period: u64) -> Result<Totp> {
        if !(16..=128).contains(&secret.len()) {
            return Err(Error::invalid_argument(
                "secret",
                "must have 16 to 128 bytes (RFC 4226, section 4)",
            ));
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
            .build()
            .map_err(|_| Error::invalid_argument("secret", "is invalid"))?;
        Ok(Totp { secret: Zeroizing::new(secret.to_vec()), algorithm, digits, period, codes })
    }

    /// Reads an `otpauth:` URI.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it is not `otpauth://totp/…` with a secret in Base32, or if a
    /// value is out of range.
    pub fn from_uri(uri: &str) -> Result<Totp> {
        let bad = |reason: &'static str| Error::invalid_argument("uri", reason);
        let (_, query) = uri
            .strip_prefix("otpauth://totp/")
            .and_then(|rest| rest.split_once('?'))
            .ok_or_else(|| bad("must begin with otpauth://totp/ and have a secret"))?;
        let params = form::read(query)?;
        let text = |name: &str| params.get(name).and_then(|value| value.as_str());
        let number = |name: &str, or: u64| match text(name) {
            Some(text) => text.parse().map_err(|_| bad("has an invalid digits or period value")),
            None => Ok(or),
        };
        let secret = text("secret").map(totp_rs::Secret::try_from_base32);
        let Some(Ok(secret)) = secret else { return Err(bad("must have a secret in Base32")) };
        let algorithm = Algorithm::named(text("algorithm").unwrap_or("SHA1"))
            .ok_or_else(|| bad("must use SHA1, SHA256 or SHA512 as its algorithm"))?;
        // A number that does not fit a u8 becomes one that `new` rejects.
        let digits = u8::try_from(number("digits", 6)?).unwrap_or(u8::MAX);
        Totp::new(secret.as_bytes(), algorithm, digits, number("period", 30)?)
    }

    /// The URI that carries the secret into an app.
    pub fn uri(&self, issuer: &str, label: &str) -> Secret {
        let secret = totp_rs::Secret::from(self.secret.as_slice());
        Secret::new(format!(
            "otpauth://totp/{issuer}:{label}?secret={secret}&issuer={issuer}&algorithm={algorithm}\
             &digits={digits}&period={period}",
            issuer = form::escape(issuer),
            label = form::escape(label),
            secret = secret.to_base32(),
            algorithm = self.algorithm.name(),
            digits = self.digits,
            period = self.period,
        ))
    }

    /// The secret's bytes, for storage.
    pub fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// The hash function of the codes.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// How many digits a code has.
    pub fn digits(&self) -> u8 {
        self.digits
    }

    /// How long an app shows a code, in seconds.
    pub fn period(&self) -> u64 {
        self.period
    }

    /// The code that an app shows at a given time, in Unix seconds.
    pub fn code(&self, at: u64) -> Secret {
        Secret::new(self.codes.generate(at).to_string())
    }

    /// Checks a code at a given time, in Unix seconds. The steps immediately before and after are
    /// accepted too, to allow for clock drift. A step that is not after `last_step` is never
    /// accepted.
    ///
    /// The running time reveals which step a right code belongs to, and nothing about a wrong code.
    pub fn check(&self, token: &Token, at: u64, last_step: Option<u64>) -> Match {
        let now = at / self.period;
        for step in [now, now.saturating_sub(1), now.saturating_add(1)] {
            let code = self.codes.generate(step.saturating_mul(self.period)).to_string();
            let code = Zeroizing::new(code);
            if bool::from(code.as_bytes().ct_eq(token.as_str().as_bytes())) {
                return match last_step.is_some_and(|last| step <= last) {
                    true => Match::Used,
                    false => Match::Step(step),
                };
            }
        }
        Match::None
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
    fn a_uri_round_trips() {
        let totp = Totp::new(&[9; 20], Algorithm::Sha1, 7, 10).unwrap();
        let uri = totp.uri("Ada & Co", "ada@example.com");
        let read = Totp::from_uri(uri.expose()).unwrap();
        assert_eq!((read.secret(), read.digits(), read.period()), (totp.secret(), 7, 10));
        for bad in
            ["", "otpauth://hotp/x?secret=GE", "otpauth://totp/x", "otpauth://totp/x?secret=1"]
        {
            assert!(Totp::from_uri(bad).is_err(), "{bad}");
        }
    }
}
