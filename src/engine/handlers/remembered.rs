//! Remembered browsers: tokens that take the place of the second factor for some days (interface 4.27
//! to 4.29).
//!
//! A token is 57 bytes in Base64 with the URL alphabet: the version, a random id, when it expires, and
//! an HMAC-SHA-256 over these, the application and the user, under a key of the application. The key
//! is in the database, next to hashes of the ids, so a copy of the database allows to sign, but
//! contains no id. The signature is checked first: a guess costs no look at the database.

use crate::calls::{BrowserCheck, Done, Forget, Recognise, Remember, Remembered};
use crate::engine::core::Engine;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::{limits, rejections};
use crate::engine::operations::AppId;
use crate::engine::operations::audit::{AuditVerdict, Noted, Trail};
use crate::engine::operations::browsers::{self, BrowserKey, NewBrowser};
use crate::engine::store::View;
use crate::model::{BrowserToken, UserId};
use crate::{Handle, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::time::Duration;
use zeroize::Zeroizing;

const VERSION: u8 = 1;
const ID: usize = 16;
/// The version, the id, and the time at which the token expires.
const SIGNED: usize = 1 + ID + 8;
const WHOLE: usize = SIGNED + 32;
/// The prefix of the signed bytes, so that the signature is of no use for anything else, and no other
/// signature is of use here.
const PURPOSE: &[u8] = b"seconder remembered browser\0";
const A_DAY: u64 = 24 * 60 * 60;

impl Handle<Remember> for Engine {
    fn handle(&self, call: &Remember) -> Result<Remembered> {
        let now = self.begin();
        let days = call.days.unwrap_or(limits::REMEMBERED_DAYS);
        // In whole seconds, as the token has it.
        let life = Duration::from_secs(days * A_DAY);
        let whole = |time: Time| Time(time.0 - time.0.rem_euclid(1000)).plus(life);
        let expires_at = whole(now.clock);
        let mut id = Zeroizing::new([0; ID]);
        self.random().fill(&mut *id)?;
        let token = self.token(call.user_id, &id, expires_at.seconds());
        let browser = NewBrowser {
            key: self.browser_key(call.user_id, &id),
            expires_at: whole(now.steady),
            most: limits::REMEMBERED_BROWSERS,
            now,
        };
        let (trail, user_id) = (self.trail::<Remember>(now, None)?, call.user_id);
        let added = self.run(move |view| {
            let added = browsers::add(view, &browser)?;
            if added {
                trail.done(view, user_id);
            }
            Ok(added)
        })?;
        if !added {
            return Err(rejections::user_not_found());
        }
        let mut remembered = Remembered::new(token, expires_at.seconds());
        remembered.message = Some("The browser is remembered.".into());
        Ok(remembered)
    }
}

impl Handle<Recognise> for Engine {
    fn handle(&self, call: &Recognise) -> Result<BrowserCheck> {
        let now = self.begin();
        let Some(id) = self.signed_id(call.user_id, &call.token) else {
            return Ok(BrowserCheck::default());
        };
        let key = self.browser_key(call.user_id, &id);
        let (trail, user_id) = (self.trail::<Recognise>(now, None)?, call.user_id);
        let decide = move |view: &mut View, trail: &mut Trail| {
            let found = browsers::is_remembered(view, &key, now)?;
            match found {
                true => trail.note(view, Noted::of(user_id, AuditVerdict::Recognised)),
                false => trail.refuse(Noted::of(user_id, AuditVerdict::NotRecognised)),
            }
            Ok(found)
        };
        match self.run_refusable(trail, &user_id.to_string(), decide)? {
            true => Ok(BrowserCheck::recognised(call.user_id)),
            false => Ok(BrowserCheck::default()),
        }
    }
}

impl Handle<Forget> for Engine {
    fn handle(&self, call: &Forget) -> Result<Done> {
        let now = self.begin();
        let user_id = call.user_id;
        match &call.token {
            Some(token) => {
                if let Some(id) = self.signed_id(user_id, token) {
                    let key = self.browser_key(user_id, &id);
                    let trail = self.trail::<Forget>(now, None)?;
                    self.run(move |view| {
                        if browsers::forget(view, &key)? {
                            trail.done(view, user_id);
                        }
                        Ok(())
                    })?;
                }
                Ok(Done::with_message("The browser is not remembered any more."))
            }
            None if self.forget_all(user_id, now)? => {
                Ok(Done::with_message("No browser of the user is remembered any more."))
            }
            None => Err(rejections::user_not_found()),
        }
    }
}

impl Engine {
    /// Returns whether there is such a user.
    fn forget_all(&self, user_id: UserId, now: Now) -> Result<bool> {
        let (app, trail) = (self.app.app_id, self.trail::<Forget>(now, None)?);
        self.run(move |view| {
            let found = browsers::forget_all(view, app, user_id)?;
            if found {
                trail.done(view, user_id);
            }
            Ok(found)
        })
    }

    fn token(&self, user_id: UserId, id: &[u8; ID], expires_at: u64) -> BrowserToken {
        let mut whole = Zeroizing::new(Vec::with_capacity(WHOLE));
        whole.push(VERSION);
        whole.extend_from_slice(id);
        whole.extend_from_slice(&expires_at.to_be_bytes());
        let signature = self.signature(user_id, &whole).finalize().into_bytes();
        whole.extend_from_slice(&signature);
        let text = Zeroizing::new(URL_SAFE_NO_PAD.encode(&*whole));
        BrowserToken::from(text.as_str())
    }

    /// Returns the id in a token, if this application has signed the token for this user.
    fn signed_id(&self, user_id: UserId, token: &BrowserToken) -> Option<Zeroizing<[u8; ID]>> {
        let whole = Zeroizing::new(URL_SAFE_NO_PAD.decode(token.as_str()).ok()?);
        let (signed, signature) = whole.split_at_checked(SIGNED)?;
        if signed.first() != Some(&VERSION) {
            return None;
        }
        // In constant time, and of the whole length only.
        self.signature(user_id, signed).verify_slice(signature).ok()?;
        let id = signed.get(1..=ID)?.try_into().ok()?;
        Some(Zeroizing::new(id))
    }

    fn signature(&self, user_id: UserId, signed: &[u8]) -> Hmac<Sha256> {
        sign(&self.app.secret, self.app.app_id, user_id, signed)
    }

    fn browser_key(&self, user_id: UserId, id: &[u8; ID]) -> BrowserKey {
        // The id is random and long, so that a plain hash suffices.
        BrowserKey { app: self.app.app_id, user_id, id_hash: Sha256::digest(id).into() }
    }
}

/// Each field has a fixed length, so that no two tokens are signed alike.
fn sign(secret: &[u8; 32], app: AppId, user_id: UserId, signed: &[u8]) -> Hmac<Sha256> {
    // HMAC pads a key to a block with zeros.
    let mut block = Zeroizing::new([0; 64]);
    block[..secret.len()].copy_from_slice(secret);
    let mut mac = Hmac::<Sha256>::new((&*block).into());
    mac.update(PURPOSE);
    mac.update(&app.to_be_bytes());
    mac.update(&user_id.get().to_be_bytes());
    mac.update(signed);
    mac
}
