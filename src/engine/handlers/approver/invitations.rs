//! Invitations: a code, typed or in a link, by which a user registers a device.

use super::super::authenticators;
use super::published::{Published, hash_of, is_now};
use super::refused::Refused;
use crate::calls::{DeviceInvited, InviteDevice};
use crate::engine::core::Engine;
use crate::engine::model::clock::Random;
use crate::engine::model::devices::DeviceType;
use crate::engine::model::{limits, rejections};
use crate::engine::operations::approver::{NewInvitation, Presented, Registered};
use crate::engine::operations::{approvals, approver as stored, user};
use crate::model::Secret;
use crate::{Error, Handle, Result, webpush};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::time::Duration;
use zeroize::Zeroizing;

/// The digits and letters of codes, without characters that look like others (Crockford's Base32).
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// The number of characters in a code: 50 bits.
const LENGTH: usize = 10;
/// The default width and height of a QR code, in pixels.
const QR_SIZE: u64 = 300;
/// The longest name of a device, in characters.
const LONGEST_NAME: usize = 64;
/// The prefix that is hashed with a code, so that the key has no other use.
const PURPOSE: &[u8] = b"invitation:";

/// A device that a user wants to register by an invitation.
#[derive(Clone, Debug)]
pub struct PresentedDevice {
    /// The code of the invitation, as it was typed.
    pub code: Secret,
    /// The public key: an uncompressed point on P-256.
    pub key: Vec<u8>,
    /// The public key as the device has signed it.
    pub key_text: String,
    /// The type of the device.
    pub kind: DeviceType,
    /// The name that its user gave it. 1 to 64 characters.
    pub name: String,
    /// The language of its messages, as in BCP 47.
    pub language: String,
    /// The time of the signature, in Unix seconds.
    pub time: u64,
    /// The signature of the key.
    pub signature: Vec<u8>,
}

/// A device that was registered by an invitation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RegisteredBy {
    /// The public id of the device from now on.
    pub device: String,
    /// The name of the application.
    pub application: String,
    /// The e-mail of the user, masked.
    pub account: String,
    /// The codes that it shows.
    pub codes: CodesOfDevice,
    /// The public key of messages to push services.
    pub push_key: Vec<u8>,
}

/// The parameters that a device needs to show codes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CodesOfDevice {
    /// The secret.
    pub secret: Secret,
    /// The number of digits of the codes.
    pub digits: u8,
    /// The time for which each code is shown, in seconds.
    pub period: u64,
}

/// A new code for an invitation.
pub(in crate::engine) struct NewCode {
    /// In two groups, as it is shown.
    pub(in crate::engine) shown: Secret,
    pub(in crate::engine) link: Secret,
    pub(in crate::engine) invitation: NewInvitation,
}

impl Engine {
    /// Creates a code for an invitation that is valid for this time, and may be sent to the number of its user.
    ///
    /// # Errors
    /// [`Error::Rejected`] if the public URL of the service is not set.
    pub(in crate::engine) fn new_invitation(
        &self,
        life: Duration,
        by_sms: bool,
    ) -> Result<NewCode> {
        let approver = self.approver()?;
        let code = new_code(self.random())?;
        let code_hash = hash(&approver, &code)?;
        let (first, second) = code.split_at(LENGTH / 2);
        let shown = Secret::new(format!("{first}-{second}"));
        let link = Secret::new(format!("{}#{}", approver.page(), shown.expose()));
        Ok(NewCode { shown, link, invitation: NewInvitation { code_hash, life, by_sms } })
    }

    /// Registers a device by an invitation, which is used up then. The user's other devices are notified. The
    /// device itself gets the same reply again, with the same key, if it did not receive the first one.
    ///
    /// # Errors
    /// Why it is not registered. Nothing is changed then.
    pub fn register_by_invitation(
        &self,
        presented: &PresentedDevice,
    ) -> Result<RegisteredBy, Refused> {
        let now = self.now();
        let approver = self.approver()?;
        let (name, language) = (name(&presented.name)?, language(&presented.language)?);
        let key =
            webpush::check_point(&presented.key).map_err(|error| error.of_parameter("key"))?;
        let code = invitation_code(presented.code.expose()).ok_or(Refused::InvitationUnknown)?;
        let text = format!(
            "seconder-enrol-v1\n{}\n{}\n{}\n{}",
            approver.origin(),
            hash_of(code.as_bytes()),
            presented.key_text,
            presented.time,
        );
        if !webpush::verify_p256(&key, text.as_bytes(), &presented.signature) {
            return Err(Refused::Signature);
        }
        if !is_now(presented.time, now) {
            return Err(Refused::Clock);
        }
        let mut secret = Zeroizing::new(vec![0; limits::SECRET_LENGTH]);
        self.random().fill(&mut secret)?;
        let push_key = approver.push_key()?.public_point().to_vec();
        let new = Presented {
            code_hash: hash(&approver, &code)?,
            key: key.to_vec(),
            os_type: presented.kind.name(),
            name,
            language,
            secret,
            most_devices: self.caps().devices,
            first_push: self.nonce()?,
            push_lease: self.push_lane().lease(),
            trail: self.trail_of("register_device", now, None)?,
        };
        let registered = self.run(move |view| stored::register(view, &new))?;
        let (app, device, account, codes, pushes) = match registered {
            Registered::Done { app, device, account, codes, pushes } => {
                (app, device, account, codes, pushes)
            }
            Registered::Unknown => return Err(Refused::InvitationUnknown),
            Registered::Spent => return Err(Refused::InvitationSpent),
            Registered::Expired => return Err(Refused::InvitationExpired),
            Registered::TooMany => return Err(Refused::TooManyDevices),
        };
        self.hand_over(pushes);
        let application =
            self.application(app)?.map(|app| app.settings.name.clone()).unwrap_or_default();
        Ok(RegisteredBy {
            device: format!("{app}.{device}"),
            application,
            account: approvals::masked(&account),
            codes: CodesOfDevice {
                secret: super::published::text_of(&codes.secret),
                digits: codes.digits,
                period: codes.period,
            },
            push_key,
        })
    }
}

impl Handle<InviteDevice> for Engine {
    fn handle(&self, call: &InviteDevice) -> Result<DeviceInvited> {
        let now = self.begin();
        let life = limits::INVITATION_LIFE;
        let NewCode { shown, link, invitation } = self.new_invitation(life, false)?;
        let qr_code = authenticators::picture(&link, call.qr_size.unwrap_or(QR_SIZE))?;
        let (app, user_id) = (self.app.app_id, call.user_id);
        let trail = self.trail::<InviteDevice>(now, None)?;
        let invited = self.run(move |view| {
            if user(view, app, user_id)?.is_none() {
                return Ok(false);
            }
            stored::invite(view, app, user_id, &invitation, now);
            trail.done(view, user_id);
            Ok(true)
        })?;
        match invited {
            true => Ok(DeviceInvited::new(link, shown, qr_code, life.as_secs())),
            false => Err(rejections::user_not_found()),
        }
    }
}

fn new_code(random: &dyn Random) -> Result<Zeroizing<String>> {
    let mut bytes = Zeroizing::new([0; LENGTH]);
    random.fill(&mut *bytes)?;
    let letter = |byte: &u8| char::from(ALPHABET[usize::from(byte % 32)]);
    Ok(Zeroizing::new(bytes.iter().map(letter).collect()))
}

/// Returns a typed code as it is hashed and signed, or `None` for a text that cannot be one: in capitals, without
/// separators between the groups, and with the letters that look like digits read as those.
pub fn invitation_code(typed: &str) -> Option<Zeroizing<String>> {
    let mut code = Zeroizing::new(String::with_capacity(LENGTH));
    for letter in typed.chars().filter(|letter| !"- ".contains(*letter)) {
        let letter = match letter.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        };
        if code.len() == LENGTH || !ALPHABET.contains(&u8::try_from(letter).ok()?) {
            return None;
        }
        code.push(letter);
    }
    (code.len() == LENGTH).then_some(code)
}

/// Returns the hash of a code. Without a key, anyone who reads the database could try all codes
/// against it.
fn hash(approver: &Published, code: &str) -> Result<Vec<u8>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(approver.row.code_key.get()?)
        .map_err(|_| Error::storage("the key of invitations is damaged"))?;
    mac.update(PURPOSE);
    mac.update(code.as_bytes());
    Ok(mac.finalize().into_bytes().to_vec())
}

/// Checks the name that a user gives a device, without anything that could be mistaken for
/// something else on a page.
pub(super) fn name(given: &str) -> Result<String> {
    let name = given.trim();
    let is_long = name.chars().count() > LONGEST_NAME;
    match name.is_empty() || is_long || name.chars().any(misleads) {
        true => Err(Error::invalid_argument(
            "name",
            "must be 1 to 64 characters, without those that draw nothing or reorder others",
        )),
        false => Ok(name.to_owned()),
    }
}

/// Returns whether a character controls something, draws nothing, reorders its neighbours or is for private use. The
/// characters that Persian, Indic languages and emoji need do not: the two joiners and two variation selectors. The
/// page decides the same by Unicode's classes, for which Rust has no table: `ODD` in server/approver/assets/page.js.
pub fn misleads(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}'
            | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..='\u{ffffd}' | '\u{100000}'..='\u{10fffd}')
}

/// Returns a language that a device names.
pub(super) fn language(given: &str) -> Result<String> {
    let is_tag = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    match (2..=35).contains(&given.len()) && given.bytes().all(is_tag) {
        true => Ok(given.to_owned()),
        false => {
            Err(Error::invalid_argument("language", "must be a tag of BCP 47, such as en or pt-BR"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_people_type_it() {
        for typed in ["01234-ABCDE", "o1234abcde", " OI2 34-ab cde ", "0L234ABCDE"] {
            assert_eq!(invitation_code(typed).unwrap().as_str(), "01234ABCDE", "{typed}");
        }
        for typed in ["", "01234-ABCD", "01234-ABCDEF", "01234-ABCDU", "01234_ABCDE", "01234-ABCDÄ"]
        {
            assert!(invitation_code(typed).is_none(), "{typed}");
        }
    }

    #[test]
    fn names_and_languages_of_devices_are_bounded() {
        assert_eq!(name(" Ada's phone ").unwrap(), "Ada's phone");
        let family = "Ada\u{2019}s \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{2764}\u{fe0f}";
        assert_eq!(name(family).unwrap(), family);
        for wrong in [
            "",
            "  ",
            "a\u{7}",
            "a\u{202e}b",
            "\u{200b}",
            "a\u{2028}b",
            "\u{3164}",
            &"x".repeat(65),
            &"x".repeat(1 << 20),
        ] {
            assert!(name(wrong).is_err());
        }
        assert!(["en", "pt-BR", "zh-Hant-TW"].iter().all(|tag| language(tag).is_ok()));
        assert!(
            ["", "e", "en_US", "en ", &"x".repeat(36)].iter().all(|tag| language(tag).is_err())
        );
    }
}
