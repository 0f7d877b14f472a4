//! Look-ups of numbers: the carrier, the type of the line, and the types that an application does not
//! accept.
//!
//! The provider is asked outside every transaction. A reply is kept under a hash of the number, and
//! any failure means that nothing is known: no call fails because of it.

use crate::calls::{Channel, PhoneInfo, PhoneInformation};
use crate::engine::core::Engine;
use crate::engine::model::clock::Time;
use crate::engine::model::limits::Limits;
use crate::engine::model::lines::{LineType, PhoneLine, Reserved};
use crate::engine::model::phones::Phone;
use crate::engine::model::{as_written, rejections};
use crate::engine::operations::audit::{AuditVerdict, Noted, Trail};
use crate::engine::operations::budgets::Sending;
use crate::engine::operations::lines::{self, Allowance, LineKey, Wanted};
use crate::engine::store::View;
use crate::{Error, Handle, Result};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value};
use sha2::Sha256;
use std::time::Duration;
use zeroize::Zeroizing;

/// The time for which it is kept that the provider knows nothing of a number.
const NOTHING_KNOWN: Duration = Duration::from_secs(24 * 60 * 60);
/// The time for which the provider is not asked again for a number after a look-up that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(60);
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The prefix of the hashed number, so that the hash is of no use for anything else.
const PURPOSE: &[u8] = b"seconder phone line\0";

crate::model::serde_by!(from_text, serialize_str(name): LineType);

/// The purpose for which a number is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Purpose {
    Enrolment,
    Message(Channel),
}

impl Purpose {
    /// Returns the types that the application does not accept for it. A landline receives calls.
    fn refused(self, limits: &Limits) -> Vec<LineType> {
        let by_call = self == Purpose::Message(Channel::Call);
        let refused = limits.refuse.iter().copied();
        refused.filter(|kind| !by_call || *kind != LineType::Landline).collect()
    }

    fn rejection(self, kind: LineType) -> Error {
        match (self, kind) {
            (Purpose::Enrolment, _) => rejections::cellphone_not_accepted(kind),
            (_, LineType::Landline) => rejections::landline(),
            (..) => rejections::line_not_accepted(kind),
        }
    }
}

/// Returns the reason for which a number was refused, as the audit says it: spelled out, because the
/// lists of reasons are compared with the names here.
fn reason(kind: LineType) -> Option<&'static str> {
    match kind {
        LineType::Mobile => None,
        LineType::Landline => Some("landline"),
        LineType::Voip => Some("voip"),
        LineType::Disposable => Some("disposable"),
    }
}

/// A number that a call is about to use.
pub(in crate::engine) struct InUse<'a> {
    pub(in crate::engine) phone: &'a Phone,
    pub(in crate::engine) purpose: Purpose,
    pub(in crate::engine) trail: &'a Trail,
    /// The audit entry of its use.
    pub(in crate::engine) noted: Noted,
    /// The key under which refusals are counted together.
    pub(in crate::engine) counted_as: String,
    /// The message that is to be sent.
    pub(in crate::engine) message: Option<Sending>,
}

impl Engine {
    /// Rejects a number of a type that the application does not accept. Its numbering plan decides if it
    /// can; otherwise it is looked up. A number of unknown type is accepted.
    pub(in crate::engine) fn accept(&self, used: InUse<'_>) -> Result<PhoneLine> {
        let refused = used.purpose.refused(&self.app.settings.limits);
        let planned = LineType::of_plan(used.phone.kind());
        if let Some(kind) = planned.filter(|kind| refused.contains(kind)) {
            return Err(self.refuse(used, kind)?);
        }
        let decided = planned.is_some() && refused == [LineType::Landline];
        if refused.is_empty() || decided {
            return Ok(PhoneLine::default());
        }
        let line = self.line(used.phone, used.trail, used.message.clone())?;
        match line.kind.filter(|kind| refused.contains(kind)) {
            Some(kind) => Err(self.refuse(used, kind)?),
            None => Ok(line),
        }
    }

    fn refuse(&self, used: InUse<'_>, kind: LineType) -> Result<Error> {
        let noted = Noted { verdict: AuditVerdict::Refused, over: Some("refuse"), ..used.noted };
        let trail = used.trail.clone();
        self.note_refusal(trail, &used.counted_as, noted.because(reason(kind)))?;
        Ok(used.purpose.rejection(kind))
    }

    /// Returns the known facts about a number, which is looked up unless they are known already.
    pub(in crate::engine) fn line(
        &self,
        phone: &Phone,
        trail: &Trail,
        message: Option<Sending>,
    ) -> Result<PhoneLine> {
        let Some(provider) = &self.shared.lookup else { return Ok(PhoneLine::default()) };
        let (now, number) = (trail.now.steady, phone.e164());
        let key = self.line_key(&number);
        let kept = key.clone();
        if let Some(line) = self.look(move |view| lines::find(view, &kept, now))? {
            return Ok(line);
        }
        // Before it is counted, so that only look-ups that are made are counted.
        let reserved = provider.reserve();
        if let Reserved::NoProvider = reserved {
            return Ok(PhoneLine::default());
        }
        let most = self.limits().map(|limits| limits.lookup_day);
        let wanted = Wanted { key: key.clone(), most, message, now };
        // Rows of their own, next to the rows of the call.
        let trail = Trail { nonce: self.nonce()?, ..trail.clone() };
        let noted = Noted {
            verdict: AuditVerdict::NotLookedUp,
            number: Some(phone.masked_e164()),
            ..Noted::default()
        };
        let Reserved::LookUp(look_up) = reserved else {
            self.note_refusal(trail, "lookups", noted.because(Some("lookup_paused")))?;
            return Ok(PhoneLine::default());
        };
        let (by, of) = (trail.clone(), noted.clone());
        let decide = move |view: &mut View, trail: &mut Trail| {
            let asked = lines::ask(view, &wanted)?;
            if let Allowance::Over(over) = &asked {
                trail.refuse(Noted { over: Some(over.limit), ..of.clone() });
            }
            Ok(asked)
        };
        match self.run_refusable(by, "lookups", decide)? {
            Allowance::Kept(line) => return Ok(line),
            Allowance::Allowed => {}
            Allowance::NotNeeded | Allowance::Over(_) => return Ok(PhoneLine::default()),
        }
        let answer = look_up(&number).map(PhoneLine::cleaned);
        let is_known = answer.as_ref().is_some_and(|line| *line != PhoneLine::default());
        let life = match &answer {
            None => AFTER_FAILURE,
            Some(_) if is_known => A_DAY.saturating_mul(self.app.settings.limits.carrier_days),
            Some(_) => NOTHING_KNOWN,
        };
        let failed = answer.is_none();
        let line = answer.unwrap_or_default();
        let (known, expires_at): (PhoneLine, Time) = (line.clone(), self.now().steady.plus(life));
        self.run(move |view| lines::keep(view, &key, &known, expires_at))?;
        if failed {
            self.note_refusal(trail, "lookups", noted.because(Some("lookup_failed")))?;
        }
        Ok(line)
    }

    /// Numbers can all be tried, so a plain hash would hide none of them.
    fn line_key(&self, number: &str) -> LineKey {
        // HMAC pads a key to a block with zeros.
        let mut block = Zeroizing::new([0; 64]);
        block[..self.app.secret.len()].copy_from_slice(&*self.app.secret);
        let mut mac = Hmac::<Sha256>::new((&*block).into());
        mac.update(PURPOSE);
        mac.update(number.as_bytes());
        LineKey { app: self.app.app_id, number_hash: mac.finalize().into_bytes().into() }
    }
}

impl Handle<PhoneInfo> for Engine {
    fn handle(&self, call: &PhoneInfo) -> Result<PhoneInformation> {
        let now = self.begin();
        let phone = Phone::parse(call.country_code, &call.phone_number)
            .map_err(rejections::phone_information_failed)?;
        let trail = self.trail::<PhoneInfo>(now, call.user_ip)?;
        let line = self.line(&phone, &trail, None)?;
        let mut information = PhoneInformation::new(line.phone_type(phone.kind()));
        information.message = Some(format!("Phone number information as of {}", now.clock.utc()));
        // Clients in typed languages need both, also where they are not known.
        information.provider = Some(line.carrier.unwrap_or_else(|| "Unknown".into()));
        information.ported = Some(line.ported.unwrap_or(false));
        Ok(information)
    }

    fn prepare(&self, params: &mut Map<String, Value>) -> Result<Option<PhoneInformation>> {
        as_written::rewrite_phone(params).map(|()| None)
    }
}
