//! Codes by SMS and voice: for users (interface 4.2 and 4.3), and for numbers that do not belong to
//! a user yet (interface 4.10).

mod checking;

pub(in crate::engine) use checking::note;

use super::lines::{InUse, Purpose};
use crate::calls::*;
use crate::engine::core::Delivered;
use crate::engine::core::Engine;
use crate::engine::model::clock::{self, Now, Time};
use crate::engine::model::factors::Factor;
use crate::engine::model::lines::{LineType, PhoneLine};
use crate::engine::model::phones::{self, Phone};
use crate::engine::model::texts::{Kind, Values, Wording};
use crate::engine::model::{as_written, limits, rejections};
use crate::engine::operations::Subject;
use crate::engine::operations::audit::{Noted, Trail};
use crate::engine::operations::budgets::{Over, Sending};
use crate::engine::operations::codes::{self, IssueCode, Issued};
use crate::engine::operations::completions::LIMIT;
use crate::engine::operations::jobs::Outgoing;
use crate::engine::operations::verifications::{self, VerificationKey};
use crate::engine::operations::verify::check;
use crate::engine::store::View;
use crate::error::whole_seconds;
use crate::model::{ApprovalId, DisplayText};
use crate::{Error, Handle, Result, Stage};
use serde_json::{Map, Value};
use std::net::IpAddr;
use std::time::Duration;
use zeroize::Zeroizing;

// The texts of live services, which some clients match.
const SMS_IGNORED: &str = "Ignored: SMS is not needed for smartphones. Pass force=true if you want \
                           to actually send it anyway.";
const CALL_IGNORED: &str = "Call ignored. User is using App Tokens and this call is not necessary. \
                            Pass force=true if you still want to call users that are using the App.";
const CODE_CORRECT: &str = "Verification code is correct.";
const CODE_WRONG: &str = "Verification code is incorrect";

/// A code to issue and deliver.
struct Order {
    subject: Subject,
    phone: Phone,
    action: String,
    about: Option<String>,
    /// The language of the message, if the call names one.
    locale: Option<String>,
    channel: Channel,
    length: u8,
    /// The id of the verification that a new code begins, for a number.
    uuid: Option<ApprovalId>,
    /// The audit trail of the call.
    trail: Trail,
    user_ip: Option<IpAddr>,
}

/// A code that was sent.
struct Sent {
    expires_at: Time,
    /// The time after which it can be sent again by the same channel, in seconds.
    resend_after: u64,
    /// The id of the verification, for a number.
    uuid: Option<ApprovalId>,
    /// True if the message waits for another attempt.
    queued: bool,
}

impl Engine {
    /// Sends a code to a user, unless the user has an app and does not need it.
    fn request_code<By: CodeChannel>(&self, call: &RequestCode<By>) -> Result<CodeRequested> {
        let RequestCode { user_id, force, user_ip, .. } = *call;
        let channel = By::CHANNEL;
        let now = self.begin();
        let trail = self.trail::<RequestCode<By>>(now, user_ip)?;
        let user = self.user(user_id);
        let number = user.as_ref().ok().and_then(|user| user.phone.as_ref()).map(Phone::e164);
        self.accept_channel(channel, number)?;
        let user = user?;
        let cellphone = user.phone.as_ref().map(Phone::masked_e164);
        if user.uses_app() && !force.unwrap_or(self.app.settings.force_codes) {
            let message = match channel {
                Channel::Sms => SMS_IGNORED.to_owned(),
                Channel::Call => CALL_IGNORED.to_owned(),
            };
            let device = user.devices.last().cloned();
            return Ok(CodeRequested {
                message: Some(message),
                cellphone,
                ignored: true,
                device,
                resend_after: None,
            });
        }
        let text = |part: &Option<DisplayText>| part.as_ref().map(|line| line.as_str().to_owned());
        let subject = Subject::User(self.app.app_id, user_id);
        let phone = user.phone.ok_or_else(rejections::no_phone)?;
        self.accept_for(&phone, channel, (&trail, user_ip), &subject)?;
        let sent = self.send_code(Order {
            subject,
            phone,
            action: call.action.as_ref().map_or_else(String::new, |a| a.as_str().to_owned()),
            about: text(&call.action_message),
            locale: call.locale.clone(),
            channel,
            length: self.app.settings.token_length,
            uuid: None,
            trail,
            user_ip,
        })?;
        let message = Some(match (channel, sent.queued) {
            (Channel::Sms, false) => "SMS token was sent".into(),
            (Channel::Sms, true) => "SMS token is queued".into(),
            (Channel::Call, false) => "Call started".into(),
            (Channel::Call, true) => "Call is queued".into(),
        });
        let resend_after = Some(sent.resend_after);
        Ok(CodeRequested { message, cellphone, resend_after, ..CodeRequested::default() })
    }

    /// Rejects a channel by which the application sends no codes.
    pub(in crate::engine) fn accept_channel(
        &self,
        channel: Channel,
        to: Option<String>,
    ) -> Result<()> {
        if channel == Channel::Call || self.app.settings.sms_enabled {
            return Ok(());
        }
        let calls = to.map(|to| self.shared.sender.routes(&to, Channel::Call));
        Err(rejections::sms_not_enabled(calls.is_some_and(|routes| !routes.is_empty())))
    }

    /// Issues a code and delivers it.
    fn send_code(&self, order: Order) -> Result<Sent> {
        let fresh = Zeroizing::new(clock::digits(self.random(), order.length)?);
        let now = order.trail.now;
        let sending = self.sending(&order.subject, &order.phone, order.user_ip, now);
        let noted = noted(&order.subject, &order.phone);
        let message = Outgoing {
            to: order.phone.e164(),
            masked: order.phone.masked_e164(),
            by_voice: order.channel == Channel::Call,
            text: self.text(&order),
            country: sending.country,
            network: sending.network.clone(),
            user_ip: order.user_ip.map(|address| address.to_string()),
        };
        let (route, lease) = self.first_route(&message.to, order.channel)?;
        let kind = kind_of(&order.subject);
        let issue = IssueCode {
            subject: order.subject,
            action: order.action,
            fresh,
            life: Duration::from_secs(self.app.settings.limits.code_life.into()),
            cool_down: self.caps().cool_down,
            sends: self.caps().sends,
            tries: self.app.settings.limits.tries,
            message,
            job: (self.nonce()?, route, lease),
            uuid: order.uuid,
            now,
            sending,
        };
        let (message, expires_at, next, uuid) =
            match self.issue(order.trail, &kind, issue, noted)? {
                Issued::Sent { message, expires_at, next, uuid, paused } => {
                    paused.iter().for_each(|paused| self.warn_of_pause(paused));
                    (message, expires_at, next, uuid)
                }
                refused => return Err(not_sent(&refused, now)),
            };
        let queued = match self.send(*message)? {
            Delivered::Sent => false,
            Delivered::Queued => true,
            Delivered::NumberRefused => return Err(rejections::number_refused()),
            Delivered::Failed(reason) => return Err(Error::unavailable(Stage::Delivery, reason)),
        };
        let resend_after = next.after(now.steady).map_or(0, whole_seconds);
        Ok(Sent { expires_at, resend_after, uuid, queued })
    }

    /// Returns the limits that apply to a message.
    fn sending(
        &self,
        subject: &Subject,
        phone: &Phone,
        user_ip: Option<IpAddr>,
        now: Now,
    ) -> Sending {
        Sending {
            app: self.app.app_id,
            number: phone.e164(),
            country: phone.country_code,
            network: user_ip.map(limits::network),
            verifies_number: matches!(subject, Subject::Phone(..)),
            limits: self.limits(),
            now: now.steady,
        }
    }

    /// Rejects a number to which the application sends no codes. Returns the result of its look-up.
    fn accept_for(
        &self,
        phone: &Phone,
        channel: Channel,
        (trail, user_ip): (&Trail, Option<IpAddr>),
        subject: &Subject,
    ) -> Result<PhoneLine> {
        let message = Some(self.sending(subject, phone, user_ip, trail.now));
        let (counted_as, noted) = (kind_of(subject), noted(subject, phone));
        let purpose = Purpose::Message(channel);
        self.accept(InUse { phone, purpose, trail, noted, counted_as, message })
    }

    fn issue(&self, trail: Trail, kind: &str, issue: IssueCode, of: Noted) -> Result<Issued> {
        let decide = move |view: &mut View, trail: &mut Trail| {
            let issued = codes::issue(view, &issue)?;
            match &issued {
                Issued::Sent { paused, .. } => {
                    trail.note(view, issued.noted(of.clone()));
                    if let Some(paused) = paused {
                        trail.next().note(view, paused.noted());
                    }
                }
                refused => trail.refuse(refused.noted(of.clone())),
            }
            Ok(issued)
        };
        self.run_refusable(trail, kind, decide)
    }

    /// Returns the text of the message.
    fn text(&self, order: &Order) -> Wording {
        let kind = match (order.channel, &order.about) {
            (Channel::Sms, None) => Kind::Sms,
            (Channel::Sms, Some(_)) => Kind::SmsAction,
            (Channel::Call, None) => Kind::Call,
            (Channel::Call, Some(_)) => Kind::CallAction,
        };
        let values = Values {
            app: &self.app.settings.name,
            action: order.about.as_deref().unwrap_or_default(),
            domain: self.app.settings.otp_domain.as_ref(),
            ..Values::default()
        };
        let place = (order.locale.as_deref(), order.phone.country_code);
        Wording::new(&self.app.settings.texts, kind, place, &values)
    }
}

/// Returns the audit entry of a message.
fn noted(subject: &Subject, phone: &Phone) -> Noted {
    let user_id = match subject {
        Subject::User(_, user_id) => Some(*user_id),
        Subject::Phone(..) => None,
    };
    let number = Some(phone.masked_e164());
    Noted { user_id, number, factors: vec![Factor::Code], ..Noted::default() }
}

/// Returns the error that explains why no code is sent.
fn not_sent(refused: &Issued, now: Now) -> Error {
    let wait = |message: &str, limit, until: &Time| {
        rejections::wait::<()>(message, Some(limit), until.after(now.steady)).err()
    };
    let error = match refused {
        Issued::Sent { .. } => None,
        Issued::Moved => Some(rejections::number_changed()),
        Issued::Barred(barred) => rejections::barred::<()>(*barred, now).err(),
        Issued::TooSoon(next) => wait("A code was sent just now", "cool_down", next),
        Issued::TooOften(next) => wait("Codes were sent too often", "sends", next),
        Issued::Over(Over { until: Some(until), limit: LIMIT }) => {
            wait("Too few codes to the country of the number were used", LIMIT, until)
        }
        Issued::Over(Over { until: Some(until), limit }) => {
            wait("Too many messages were sent", limit, until)
        }
        Issued::Over(Over { until: None, .. }) => Some(rejections::country_not_allowed()),
    };
    error.unwrap_or_else(|| Error::Internal { message: "a code was sent and refused".into() })
}

impl<By: CodeChannel> Handle<RequestCode<By>> for Engine {
    fn handle(&self, call: &RequestCode<By>) -> Result<CodeRequested> {
        self.request_code(call)
    }
}

impl Handle<StartPhoneVerification> for Engine {
    fn handle(&self, call: &StartPhoneVerification) -> Result<PhoneVerificationStarted> {
        let now = self.begin();
        let phone = Phone::parse(call.country_code, &call.phone_number)
            .map_err(phones::invalid("phone_number"))?;
        let length = call
            .code_length
            .map_or(self.app.settings.token_length, |length| length.clamp(4, 10) as u8);
        self.accept_channel(call.via, Some(phone.e164()))?;
        let trail = self.trail::<StartPhoneVerification>(now, call.user_ip)?;
        let subject = Subject::Phone(self.app.app_id, phone.e164());
        let is_landline = call.via == Channel::Sms && phone.kind() == PhoneType::Landline;
        // No look-up if it is rejected in any case. If landlines are refused, the audit says so below.
        if is_landline && !self.app.settings.limits.refuse.contains(&LineType::Landline) {
            return Err(rejections::landline());
        }
        let line = self.accept_for(&phone, call.via, (&trail, call.user_ip), &subject)?;
        let kind = line.phone_type(phone.kind());
        if call.via == Channel::Sms && kind == PhoneType::Landline {
            return Err(rejections::landline());
        }
        let shown = format!("+{} {}", phone.country_code, phone.national);
        let uuid = clock::uuid(self.random())?.parse()?;
        let sent = self.send_code(Order {
            subject,
            phone,
            action: String::new(),
            about: None,
            locale: call.locale.clone(),
            channel: call.via,
            length,
            uuid: Some(uuid),
            trail,
            user_ip: call.user_ip,
        })?;
        Ok(PhoneVerificationStarted {
            message: Some(match (call.via, sent.queued) {
                (Channel::Sms, false) => format!("Text message sent to {shown}."),
                (Channel::Sms, true) => format!("Text message to {shown} is queued."),
                (Channel::Call, false) => format!("Call to {shown} was initiated."),
                (Channel::Call, true) => format!("Call to {shown} is queued."),
            }),
            // Clients in typed languages need every field, so a number that may be a mobile one counts as
            // one.
            carrier: Some(line.carrier.unwrap_or_default()),
            is_ported: Some(line.ported.unwrap_or(false)),
            is_cellphone: Some(!matches!(kind, PhoneType::Landline | PhoneType::Voip)),
            seconds_to_expire: sent.expires_at.after(now.steady).map(|life| life.as_secs()),
            uuid: sent.uuid,
            resend_after: Some(sent.resend_after),
        })
    }

    fn prepare(&self, params: &mut Map<String, Value>) -> Result<Option<PhoneVerificationStarted>> {
        as_written::rewrite_phone(params).map(|()| None)
    }
}

impl Handle<CheckPhoneVerification> for Engine {
    fn handle(&self, call: &CheckPhoneVerification) -> Result<Done> {
        let now = self.begin();
        let phone = Phone::parse(call.country_code, &call.phone_number)
            .map_err(phones::invalid("phone_number"))?;
        let subject = Subject::Phone(self.app.app_id, phone.e164());
        let (guess, of) = self.guess_of_number(&phone, &call.verification_code, now);
        let (number, kind) = (phone.masked_e164(), kind_of(&subject));
        let decide = move |view: &mut View, trail: &mut Trail| {
            let checked = check(view, &subject, &guess, &of)?;
            let number = Some(number.clone());
            note(&checked, view, trail, Noted { number, ..Noted::default() });
            Ok(checked)
        };
        let trail = self.trail::<CheckPhoneVerification>(now, None)?;
        let checked = self.run_refusable(trail, &kind, decide)?;
        self.reply_to_check(checked, now)
    }

    fn prepare(&self, params: &mut Map<String, Value>) -> Result<Option<Done>> {
        as_written::rewrite_phone(params).map(|()| None)
    }
}

impl Handle<PhoneVerificationStatus> for Engine {
    fn handle(&self, call: &PhoneVerificationStatus) -> Result<PhoneVerificationRecord> {
        let now = self.begin();
        let app = self.app.app_id;
        let key = match (&call.uuid, &call.phone_number, call.country_code) {
            (Some(uuid), ..) => VerificationKey::Uuid(app, uuid.clone()),
            (None, Some(number), Some(country)) => {
                let phone =
                    Phone::parse(country, number).map_err(phones::invalid("phone_number"))?;
                VerificationKey::Number(Subject::Phone(app, phone.e164()))
            }
            _ => return Err(rejections::no_pending_verification()),
        };
        let tries = self.app.settings.limits.tries;
        let found = self.look(move |view| verifications::find(view, &key, now.steady, tries))?;
        let found = found.ok_or_else(rejections::no_pending_verification)?;
        let left = found.expires_at.after(now.steady).filter(|_| !found.verified && !found.is_void);
        Ok(PhoneVerificationRecord {
            status: match (found.verified, left) {
                (true, _) => VerificationStatus::Verified,
                (false, Some(_)) => VerificationStatus::Pending,
                (false, None) => VerificationStatus::Expired,
            },
            seconds_to_expire: Some(left.map_or(0, |left| left.as_secs())),
            message: Some("Phone verification status.".into()),
        })
    }

    fn prepare(&self, params: &mut Map<String, Value>) -> Result<Option<PhoneVerificationRecord>> {
        as_written::rewrite_phone(params).map(|()| None)
    }
}
/// Returns the key under which the audit counts refusals together. Numbers without a user share a
/// few kinds: otherwise a caller that tries very many of them would fill it.
pub(in crate::engine) fn kind_of(subject: &Subject) -> String {
    match subject {
        Subject::User(..) => subject.key(),
        Subject::Phone(_, number) => {
            let digits: u64 = number.trim_start_matches('+').parse().unwrap_or(0);
            format!("phone:{}", digits % 64)
        }
    }
}
