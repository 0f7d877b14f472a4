//! Users: enrolment, status, removal and activities (interface 4.1, 4.5, 4.6, 4.8).

pub(in crate::engine) mod numbers;

use super::lines::{InUse, Purpose};
use crate::calls::*;
use crate::engine::core::Delivered;
use crate::engine::core::Engine;
use crate::engine::model::clock::Now;
use crate::engine::model::phones::{self, Phone};
use crate::engine::model::texts::{Kind, Values, Wording};
use crate::engine::model::{as_written, limits, rejections};
use crate::engine::operations::applications;
use crate::engine::operations::approver::NewInvitation;
use crate::engine::operations::audit::{AuditVerdict, Noted, Trail};
use crate::engine::operations::budgets::Sending;
use crate::engine::operations::enrolment::{self, EnrolUser, Welcome};
use crate::engine::operations::jobs::{Claimed, Outgoing};
use crate::engine::operations::profiles::{self, Profile};
use crate::engine::operations::users::{self, NewActivity};
use crate::model::{Secret, UserId};
use crate::{Handle, Result};
use serde_json::{Map, Value};

/// The text of live services, which clients compare as a whole.
const CREATED: &str = "User created successfully.";

impl Engine {
    /// Returns the user with this id, if they belong to this application.
    pub(in crate::engine) fn user(&self, user_id: UserId) -> Result<Profile> {
        let app = self.app.app_id;
        let found = self.look(move |view| profiles::profile(view, app, user_id))?;
        found.ok_or_else(rejections::user_not_found)
    }
}

impl Engine {
    /// Returns the message with the install link, if the application has one and there is a route
    /// for it.
    fn welcome(&self, phone: &Phone, now: Now) -> Result<Option<Welcome>> {
        let Some((link, invitation)) = self.install_link()? else { return Ok(None) };
        let values =
            Values { app: &self.app.settings.name, link: link.expose(), ..Values::default() };
        let place = (None, phone.country_code);
        let message = Outgoing {
            to: phone.e164(),
            masked: phone.masked_e164(),
            by_voice: false,
            text: Wording::new(&self.app.settings.texts, Kind::Install, place, &values),
            country: phone.country_code,
            network: None,
            user_ip: None,
        };
        let sending = Sending {
            app: self.app.app_id,
            number: phone.e164(),
            country: phone.country_code,
            network: None,
            verifies_number: false,
            limits: self.limits(),
            now: now.steady,
        };
        let Ok((route, lease)) = self.first_route(&message.to, Channel::Sms) else {
            return Ok(None);
        };
        Ok(Some(Welcome { message, invitation, job: (self.nonce()?, route, lease), sending }))
    }

    /// Returns whether new users are sent a message with a link.
    fn sends_install_messages(&self) -> Result<bool> {
        let has_link = self.app.settings.install_link.is_some() || self.public_url()?.is_some();
        Ok(self.app.settings.sms_enabled && has_link)
    }

    /// Returns the link of the application, or else one that invites the user to register a phone
    /// here.
    fn install_link(&self) -> Result<Option<(Secret, Option<NewInvitation>)>> {
        if let Some(link) = &self.app.settings.install_link {
            return Ok(Some((Secret::new(link.as_str()), None)));
        }
        if self.public_url()?.is_none() {
            return Ok(None);
        }
        let code = self.new_invitation(limits::SENT_INVITATION_LIFE, true)?;
        Ok(Some((code.link, Some(code.invitation))))
    }

    /// Sends the message to a new user. The user is enrolled whether or not it arrives, so the reply
    /// only reports the result, without the gateway's error, which may be of no use to a client.
    fn send_welcome(&self, message: Claimed) -> Result<InstallMessage> {
        Ok(match self.send(message)? {
            Delivered::Sent => InstallMessage::Sent,
            Delivered::Queued => InstallMessage::Queued,
            Delivered::Failed(_) | Delivered::NumberRefused => InstallMessage::Failed,
        })
    }
}

impl Profile {
    /// Returns whether the user is known to have an app for codes, so that no SMS is needed. A device that can
    /// only respond to approval requests would leave a login that asks for a code without any.
    pub(in crate::engine) fn uses_app(&self) -> bool {
        self.device_shows_codes || self.authenticator_used
    }
}

impl Profile {
    /// Returns the types of devices that generate or receive the user's codes, the latest device
    /// first.
    pub(in crate::engine) fn device_types(&self) -> Vec<String> {
        let mut types: Vec<String> = Vec::new();
        for kind in self.devices.iter().rev() {
            if !types.contains(kind) {
                types.push(kind.clone());
            }
        }
        types.extend(self.sms_used.then(|| "sms".to_owned()));
        types
    }
}

impl Engine {
    /// Rejects a number that is not to be enrolled, unless a user has it already.
    pub(in crate::engine) fn accept_new(&self, phone: &Phone, trail: &Trail) -> Result<()> {
        let (app, number) = (self.app.app_id, phone.clone());
        let is_known = move |view: &mut _| enrolment::find(view, app, Some(&number), "");
        let refuses = !self.app.settings.limits.refuse.is_empty();
        if !refuses || self.look(is_known)?.is_some() {
            return Ok(());
        }
        let noted = Noted { number: Some(phone.masked_e164()), ..Noted::default() };
        let (purpose, counted_as) = (Purpose::Enrolment, "enrolment".to_owned());
        self.accept(InUse { phone, purpose, trail, noted, counted_as, message: None })?;
        Ok(())
    }
}

/// Returns the number in a call, if it has one.
pub(in crate::engine) fn phone_of(call: &CreateUser) -> Result<Option<Phone>> {
    call.check()?;
    let number = call.user.country_code.zip(call.user.cellphone.as_ref());
    let phone = number.map(|(country, number)| Phone::parse(country, number));
    phone.transpose().map_err(phones::invalid("cellphone"))
}

impl Handle<CreateUser> for Engine {
    fn handle(&self, call: &CreateUser) -> Result<UserCreated> {
        let now = self.begin();
        let phone = phone_of(call)?;
        let trail = self.trail::<CreateUser>(now, None)?;
        if let Some(phone) = &phone {
            self.accept_new(phone, &trail)?;
        }
        let email = call.user.email.as_str().to_owned();
        let app = self.app.app_id;
        let wanted = call.send_install_link_via_sms;
        let welcome = match &phone {
            Some(phone) if wanted && self.app.settings.sms_enabled => self.welcome(phone, now)?,
            _ => None,
        };
        let new_only = call.new_only;
        let user = EnrolUser { app, email, phone, welcome, new_only, now };
        let number = user.phone.as_ref().map(Phone::masked_e164);
        let (has_phone, field) = match number {
            Some(_) => (true, "cellphone"),
            None => (false, "email"),
        };
        let noted =
            move |user_id, verdict| Noted { number: number.clone(), ..Noted::of(user_id, verdict) };
        let (by, says) = (trail.clone(), noted.clone());
        let enrolled = self.run(move |view| {
            if !applications::exists(view, app)? {
                return Ok(None);
            }
            let enrolled = enrolment::enrol(view, &user)?;
            if enrolled.created {
                by.note(view, says(enrolled.user_id, AuditVerdict::Created));
            }
            match &enrolled.welcome {
                Some(Ok(_)) => by.next().note(view, says(enrolled.user_id, AuditVerdict::Sent)),
                Some(Err(over)) => {
                    let says = says(enrolled.user_id, AuditVerdict::Refused);
                    by.next().note(view, Noted { over: Some(over.limit), ..says });
                }
                None => {}
            }
            Ok(Some(enrolled))
        })?;
        let enrolled = enrolled.ok_or_else(super::applications::removed)?;
        if new_only && !enrolled.created {
            return Err(rejections::user_taken(field));
        }
        let mut reply = UserCreated::new(enrolled.user_id);
        reply.created = Some(enrolled.created);
        reply.message = Some(CREATED.into());
        reply.install_message = Some(match enrolled.welcome {
            Some(Ok(message)) => self.send_welcome(*message)?,
            _ if !wanted || !has_phone => InstallMessage::NotRequested,
            _ if !self.sends_install_messages()? => InstallMessage::NotConfigured,
            _ if enrolled.created => InstallMessage::Failed,
            _ => InstallMessage::NotRequested,
        });
        Ok(reply)
    }

    fn prepare(&self, params: &mut Map<String, Value>) -> Result<Option<UserCreated>> {
        as_written::rewrite_user(params).map(|()| None)
    }
}

impl Handle<UserStatus> for Engine {
    fn handle(&self, call: &UserStatus) -> Result<UserStatusReply> {
        self.begin();
        let (user, factors) = self.factors(call.user_id)?;
        let mut status = UserStatusReply::new(user.user_id);
        status.confirmed = user.confirmed;
        status.account_disabled = user.locked_at.is_some();
        status.registered = !user.devices.is_empty();
        status.country_code = user.phone.as_ref().map(|phone| phone.country_code.into());
        status.phone_number = user.phone.as_ref().map(Phone::masked);
        status.devices = user.device_types();
        status.factors = Some(factors);
        status.created_at = i64::try_from(user.created_at.seconds()).ok();
        status.message = Some("User status.".into());
        Ok(status)
    }
}

impl Handle<DeleteUser> for Engine {
    fn handle(&self, call: &DeleteUser) -> Result<Done> {
        let now = self.begin();
        let (app, user_id) = (self.app.app_id, call.user_id);
        let trail = self.trail::<DeleteUser>(now, call.user_ip)?;
        let deleted = self.run(move |view| {
            let deleted = users::delete(view, app, user_id)?;
            if deleted {
                trail.done(view, user_id);
            }
            Ok(deleted)
        })?;
        match deleted {
            true => Ok(Done::with_message("User removed from application")),
            false => Err(rejections::user_not_found()),
        }
    }
}

impl Handle<UnlockUser> for Engine {
    fn handle(&self, call: &UnlockUser) -> Result<Done> {
        let now = self.begin();
        let (app, user_id) = (self.app.app_id, call.user_id);
        let trail = self.trail::<UnlockUser>(now, None)?;
        let unlocked = self.run(move |view| {
            let unlocked = users::unlock(view, app, user_id)?;
            if unlocked {
                trail.done(view, user_id);
            }
            Ok(unlocked)
        })?;
        match unlocked {
            true => Ok(Done::with_message("User was unlocked.")),
            false => Err(rejections::user_not_found()),
        }
    }
}

impl Handle<RegisterActivity> for Engine {
    fn handle(&self, call: &RegisterActivity) -> Result<Done> {
        let now = self.begin();
        let data = serde_json::to_string(&call.data).unwrap_or_default();
        let activity = NewActivity {
            app: self.app.app_id,
            user_id: call.user_id,
            kind: call.activity.name(),
            data,
            user_ip: call.user_ip.map(|ip| ip.to_string()),
            forgets_browsers: matches!(
                call.activity,
                ActivityType::Banned | ActivityType::PasswordReset
            ),
            nonce: self.nonce()?,
            now,
        };
        // What an application reports is in the list of activities; what an operator does is in the audit.
        let trail = match self.author.operator {
            Some(_) => Some(self.trail::<RegisterActivity>(now, call.user_ip)?),
            None => None,
        };
        let noted = move |view: &mut _| {
            let is_added = users::add_activity(view, &activity)?;
            if let Some(trail) = trail.as_ref().filter(|_| is_added) {
                trail.note(view, Noted::of(activity.user_id, AuditVerdict::Done));
            }
            Ok(is_added)
        };
        match self.run(noted)? {
            true => Ok(Done::with_message("Activity was created.")),
            false => Err(rejections::user_not_found()),
        }
    }
}
