//! Recovery codes: a set of codes that a user keeps on paper, each accepted once (interface 4.20).

use crate::calls::{Call, CreateRecoveryCodes, EnrolAuthenticator, MatchedCall, RecoveryCodes};
use crate::engine::core::Engine;
use crate::engine::model::clock::digits;
use crate::engine::model::{limits, rejections};
use crate::engine::operations::recovery as codes;
use crate::model::{Token, UserId};
use crate::{Handle, Result};
use ring::digest::SHA256_OUTPUT_LEN;
use ring::pbkdf2;
use std::num::NonZeroU32;
use zeroize::Zeroizing;

const ROUNDS: NonZeroU32 = match NonZeroU32::new(limits::RECOVERY_ROUNDS) {
    Some(rounds) => rounds,
    None => panic!("a hash has rounds"),
};

impl Handle<CreateRecoveryCodes> for Engine {
    fn handle(&self, call: &CreateRecoveryCodes) -> Result<RecoveryCodes> {
        let now = self.begin();
        let mut salt = [0; 16];
        self.random().fill(&mut salt)?;
        let mut codes: Vec<Token> = Vec::new();
        while codes.len() < limits::RECOVERY_CODES {
            let code = Zeroizing::new(digits(self.random(), limits::RECOVERY_LENGTH)?);
            codes.push(code.parse()?);
        }
        let hashes: Vec<_> = codes.iter().map(|code| hash(code, &salt)).collect();
        let (app, user_id) = (self.app.app_id, call.user_id);
        let trail = self.trail::<CreateRecoveryCodes>(now, None)?;
        let replaced = self.run(move |view| {
            let replaced = codes::replace(view, app, user_id, &salt, &hashes)?;
            if replaced {
                trail.done(view, user_id);
            }
            Ok(replaced)
        })?;
        if !replaced {
            return Err(rejections::user_not_found());
        }
        let mut created = RecoveryCodes::new(codes);
        created.message = Some("Recovery codes were created.".into());
        Ok(created)
    }
}

impl Engine {
    /// Returns whether a user has an authenticator app with an accepted code.
    ///
    /// # Errors
    /// [`Error::Rejected`](crate::Error::Rejected) if there is no such user.
    pub fn has_confirmed_authenticator(&self, user_id: UserId) -> Result<bool> {
        Ok(self.user(user_id)?.authenticator_used)
    }

    /// Rejects a call of a user for their own account that would add to or replace its protection: a
    /// person who finds a terminal unlocked is not the user. A server calls this for a peer that
    /// makes calls for its own account alone.
    ///
    /// An authenticator app can be enrolled while nothing protects the account: no code of the user
    /// was ever accepted, and there is no device and no recovery code. Confirming an app is not
    /// restricted, because [`Verify`](crate::Verify) does the same. Recovery codes can be created
    /// while no code is left, within ten minutes of a code of the app. Every other call that changes
    /// the protection of an account is rejected.
    ///
    /// # Errors
    /// [`Error::Rejected`](crate::Error::Rejected), with the status 403 if only an administrator can
    /// do it.
    pub fn check_own_account(&self, call: &MatchedCall, user_id: UserId) -> Result<()> {
        if !call.changes_protection() {
            return Ok(());
        }
        let user = self.user(user_id)?;
        let has_codes = self.look(move |view| codes::left(view, user_id))? > 0;
        match call.route().name {
            name if name == EnrolAuthenticator::ROUTE.name => {
                let has_device = !user.devices.is_empty();
                let protected = user.confirmed || has_device || user.uses_app() || has_codes;
                if protected { Err(rejections::is_protected()) } else { Ok(()) }
            }
            name if name == CreateRecoveryCodes::ROUTE.name => {
                let now = self.now();
                let used_at = self.look(move |view| codes::authenticator_used_at(view, user_id))?;
                let fresh =
                    used_at.is_some_and(|used| used.plus(limits::OWN_RECOVERY) >= now.steady);
                let allowed = fresh && !has_codes;
                if allowed { Ok(()) } else { Err(rejections::no_own_recovery_codes()) }
            }
            _ => Err(rejections::not_for_own_account()),
        }
    }
}

/// Returns whether a token may be a recovery code. No other code has as many digits.
pub(in crate::engine) fn fits(token: &Token) -> bool {
    token.as_str().len() == usize::from(limits::RECOVERY_LENGTH)
}

/// Returns the hash by which a code is stored: PBKDF2 with HMAC-SHA-256, and a salt for each set. The
/// salt is sealed, so that someone who reads the database alone cannot guess at all. A code has 40
/// bits, so the rounds keep someone who has the keyring too from using the codes for hours or days,
/// though not permanently: long enough to replace them.
pub(in crate::engine) fn hash(code: &Token, salt: &[u8]) -> Vec<u8> {
    let mut hash = vec![0; SHA256_OUTPUT_LEN];
    let secret = code.as_str().as_bytes();
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, ROUNDS, salt, secret, &mut hash);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `hashlib.pbkdf2_hmac("sha256", b"123456789012", b"0123456789abcdef", 10_000)` of Python.
    #[test]
    fn the_hash_is_pbkdf2() {
        let hash = hash(&"123456789012".parse().unwrap(), b"0123456789abcdef");
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "fe09640e6dfc644fa4398f44648c4baad54e867cd9da97a26c7428e5f32c7e85");
    }
}
