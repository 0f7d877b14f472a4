//! Codes by SMS and voice: for users (interface 4.2 and 4.3), and for numbers that do not belong to
//! a user yet (interface 4.10).

use super::clock::{self, Time};
use super::phones::{self, Phone};
use super::store::{
    Attempt, CodeRow, Committed, Factor, IssueCode, Issued, Match, Outgoing, Subject,
    VerificationKey,
};
use super::{Engine, Message, as_written, limits, rejections, sandbox, verify};
use crate::calls::*;
use crate::model::{Action, ApprovalId, DisplayText, UserId};
use crate::{Error, Handle, Result, Stage};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

// The texts of live services, which some clients match.
const SMS_IGNORED: &str = "Ignored: SMS is not needed for smartphones. Pass force=true if you want \
                           to actually send it anyway.";
const CALL_IGNORED: &str = "Call ignored. User is using App Tokens and this call is not necessary. \
                            Pass force=true if you still want to call users that are using the App.";
const CODE_CORRECT: &str = "Verification code is correct.";

/// A code to issue and deliver.
struct Order {
    subject: Subject,
    phone: Phone,
    action: String,
    about: Option<String>,
    channel: Channel,
    length: u8,
    /// The id of the verification that a new code begins, for a number.
    uuid: Option<ApprovalId>,
    now: Time,
}

impl Engine {
    /// Sends a code to a user, unless the user has an app and does not need it.
    fn request_code(
        &self,
        user_id: UserId,
        channel: Channel,
        bound: (&Option<Action>, &Option<DisplayText>),
        force: bool,
    ) -> Result<CodeRequested> {
        let now = self.begin();
        if !self.app.sms_enabled {
            return Err(rejections::sms_not_enabled());
        }
        let user = self.user(user_id)?;
        let cellphone = Some(user.phone.masked_e164());
        if user.uses_app() && !force {
            let message = match channel {
                Channel::Sms => SMS_IGNORED.to_owned(),
                Channel::Call => CALL_IGNORED.to_owned(),
            };
            let device = user.devices.last().cloned();
            return Ok(CodeRequested { message: Some(message), cellphone, ignored: true, device });
        }
        let text = |part: &Option<DisplayText>| part.as_ref().map(|line| line.as_str().to_owned());
        self.send_code(Order {
            subject: Subject::User(self.app.app_id, user_id),
            phone: user.phone,
            action: bound.0.as_ref().map_or_else(String::new, |a| a.as_str().to_owned()),
            about: text(bound.1),
            channel,
            length: self.app.token_length,
            uuid: None,
            now,
        })?;
        let message = Some(match channel {
            Channel::Sms => "SMS token was sent".into(),
            Channel::Call => "Call started".into(),
        });
        Ok(CodeRequested { message, cellphone, ..CodeRequested::default() })
    }

    /// Issues a code and delivers it. Returns when it expires, and the id of the verification, for a
    /// number.
    fn send_code(&self, order: Order) -> Result<(Time, Option<ApprovalId>)> {
        let fresh = Zeroizing::new(clock::digits(self.random(), order.length)?);
        let text = self.text(&order);
        let message = Outgoing {
            to: order.phone.e164(),
            by_voice: order.channel == Channel::Call,
            text: text.clone(),
        };
        let to = message.to.clone();
        let issued = self.store().issue_code(IssueCode {
            app: self.app.app_id,
            subject: order.subject,
            action: order.action,
            fresh,
            life: limits::CODE_LIFE,
            cool_down: self.caps().cool_down,
            sends: self.caps().sends,
            tries: limits::TRIES,
            message,
            uuid: order.uuid,
            now: order.now,
        })?;
        let (job, code, expires_at, uuid) = match issued {
            Issued::Sent { job, code, expires_at, uuid } => (job, code, expires_at, uuid),
            Issued::TooSoon(next) => {
                return rejections::wait("A code was sent just now", next.after(order.now));
            }
            Issued::TooOften(next) => {
                return rejections::wait("Codes were sent too often", next.after(order.now));
            }
        };
        let sent = self.shared.deliver.deliver(&Message {
            to,
            via: order.channel,
            text: format!("{}{}{}{}", text.0, *code, validity(expires_at, order.now), text.1),
            code: code.to_string(),
            expires_at: expires_at.seconds(),
        });
        self.store().finish_delivery(job, sent.is_ok())?;
        // The message of a failed delivery is shown to the caller, and must not contain the code.
        sent.map_err(|message| match message.contains(&*code) {
            true => "the delivery failed with a message that contains the code".to_owned(),
            false => message,
        })
        .map_err(|message| Error::unavailable(Stage::Delivery, message))?;
        Ok((expires_at, uuid))
    }

    /// The text of the message, before the code and after how long it is valid.
    fn text(&self, order: &Order) -> (String, String) {
        let about = order.about.as_ref().map(|about| format!(" ({about})")).unwrap_or_default();
        (format!("Your code for {}{about} is ", self.app.name), " Do not share it.".into())
    }
}

/// How long a code is still valid, in a message that may carry it again.
fn validity(expires_at: Time, now: Time) -> String {
    let minutes = expires_at.after(now).map_or(0, |left| left.as_secs() / 60);
    match minutes {
        0 => ". It is valid for less than a minute.".into(),
        1 => ". It is valid for 1 minute.".into(),
        _ => format!(". It is valid for {minutes} minutes."),
    }
}

impl Engine {
    /// Checks the code of a number as a sandbox does, without waits and tries.
    fn check_in_sandbox(
        &self,
        subject: Subject,
        typed: &str,
        pending: Option<&CodeRow>,
        now: Time,
    ) -> Result<Done> {
        let right = typed == sandbox::PHONE_CODE;
        if !right && !pending.is_some_and(|code| verify::same(&code.code, typed)) {
            return Err(rejections::verification_code_wrong());
        }
        if let Some(code) = pending {
            let (app, tries, delay) = (self.app.app_id, limits::TRIES, limits::delay as _);
            let found = Match::Code(code.compared());
            let committed = Attempt { app, subject, found, tries, delay, now };
            if self.store().commit_verify(committed)? != Committed::Done && !right {
                return Err(rejections::no_pending_verification());
            }
        }
        Ok(Done::with_message(CODE_CORRECT))
    }
}

impl Handle<RequestSms> for Engine {
    fn handle(&self, call: &RequestSms) -> Result<CodeRequested> {
        let bound = (&call.action, &call.action_message);
        self.request_code(call.user_id, Channel::Sms, bound, call.force)
    }
}

impl Handle<RequestCall> for Engine {
    fn handle(&self, call: &RequestCall) -> Result<CodeRequested> {
        let bound = (&call.action, &call.action_message);
        self.request_code(call.user_id, Channel::Call, bound, call.force)
    }
}

impl Handle<StartPhoneVerification> for Engine {
    fn handle(&self, call: &StartPhoneVerification) -> Result<PhoneVerificationStarted> {
        let now = self.begin();
        let phone = Phone::parse(call.country_code, &call.phone_number)
            .map_err(phones::invalid("phone_number"))?;
        let length =
            call.code_length.map_or(self.app.token_length, |length| length.clamp(4, 10) as u8);
        let kind = phone.kind();
        if call.via == Channel::Sms {
            if !self.app.sms_enabled {
                return Err(rejections::sms_not_enabled());
            }
            if kind == PhoneType::Landline {
                return Err(rejections::landline());
            }
        }
        let shown = format!("+{} {}", phone.country_code, phone.national);
        let uuid = clock::uuid(self.random())?.parse()?;
        let (expires_at, uuid) = self.send_code(Order {
            subject: Subject::Phone(self.app.app_id, phone.e164()),
            phone,
            action: String::new(),
            about: None,
            channel: call.via,
            length,
            uuid: Some(uuid),
            now,
        })?;
        Ok(PhoneVerificationStarted {
            message: Some(match call.via {
                Channel::Sms => format!("Text message sent to {shown}."),
                Channel::Call => format!("Call to {shown} was initiated."),
            }),
            // No carrier is asked. Clients in typed languages need every field, so a number that may
            // be a mobile one counts as one.
            carrier: Some(String::new()),
            is_ported: Some(false),
            is_cellphone: Some(!matches!(kind, PhoneType::Landline | PhoneType::Voip)),
            seconds_to_expire: expires_at.after(now).map(|life| life.as_secs()),
            uuid,
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
        let app = self.app.app_id;
        let subject = Subject::Phone(app, phone.e164());
        let typed = call.verification_code.as_str();
        let state = self.store().begin_verify(subject.clone())?.unwrap_or_default();
        let pending = state.codes.iter().find(|code| code.lives(now));
        if self.is_lenient() && (typed == sandbox::PHONE_CODE || pending.is_some()) {
            return self.check_in_sandbox(subject, typed, pending, now);
        }
        let code = pending.ok_or_else(rejections::no_pending_verification)?;
        if let Some(wait) =
            state.wrong_codes.wait_until(limits::delay, now).and_then(|next| next.after(now))
        {
            return rejections::wait(verify::TOO_MANY_WRONG, Some(wait));
        }
        let right = verify::same(&code.code, typed);
        let found = match right {
            true => Match::Code(code.compared()),
            // A wrong code of any length uses up one try of the pending code.
            false => {
                Match::Nothing { factors: vec![Factor::Code], compared: vec![code.compared()] }
            }
        };
        let (tries, delay) = (limits::TRIES, limits::delay as fn(u32) -> _);
        match self.store().commit_verify(Attempt { app, subject, found, tries, delay, now })? {
            Committed::Done if right => Ok(Done::with_message(CODE_CORRECT)),
            Committed::Done => Err(rejections::verification_code_wrong()),
            // A concurrent check used the code, or used up its tries.
            Committed::Changed => Err(rejections::no_pending_verification()),
            Committed::RateLimited(next) => {
                rejections::wait(verify::TOO_MANY_WRONG, next.after(now))
            }
        }
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
        let found = self.store().verification(key, now)?;
        let found = found.ok_or_else(rejections::no_pending_verification)?;
        let left = found.expires_at.after(now).filter(|_| !found.verified && !found.is_void);
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
