//! Forwarding for an application that moves here from another service: the users who are here, the users who are there,
//! and the information about a user in forwarded calls. `seconder serve --forward` decides by it; the calls themselves
//! are made by the user of this module, so that no engine waits for another service.

use super::users::phone_of;
use crate::calls::{Channel, CreateUser, PhoneVerificationStatus, UserStatusReply, Verdict};
use crate::engine::core::Engine;
use crate::engine::model::phones::Phone;
use crate::engine::model::records::UserRecord;
use crate::engine::model::rejections;
use crate::engine::operations::audit::{AuditVerdict, Noted};
use crate::engine::operations::forwarding::{Because, News, Taken};
use crate::engine::operations::verifications::VerificationKey;
use crate::engine::operations::{Subject, forwarding as stored};
use crate::model::{ApprovalId, Email, UserId};
use crate::{Error, Result};
use std::net::IpAddr;

const OWN_USERS: &str = "cannot be used with this database: users were created in it one by one, or imported \
                         without ids, whose ids may be those of others at that service. Use a new database, \
                         or one in which all users were imported with their ids";

const NEEDS_NUMBER: &str = "is required for a new user while calls are forwarded: the other service, which creates \
                            new users, has none without a number";

/// Forwards the calls of an application.
#[derive(Clone)]
pub struct Forwarding {
    engine: Engine,
}

/// The information in a reply of the other service to a call for a user.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Learned<'a> {
    /// No more than that there is such a user.
    User,
    /// The user has this number and e-mail address.
    Created(&'a CreateUser),
    /// A code was sent; whether it would have been sent to a user with an app too.
    Sent {
        /// `force` of the call.
        forced: bool,
    },
    /// The user may have an app, whose secret only the other service has.
    App,
    /// The verdict on a code, which came from this address.
    Checked(Verdict, Option<IpAddr>),
    /// The status of the user.
    Status {
        /// As the other service says.
        confirmed: bool,
    },
}

impl Forwarding {
    /// Begins to forward the calls of the application of an engine, or goes on.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if users were created here one by one before calls were first forwarded;
    /// [`Error::Storage`].
    pub fn begin(engine: &Engine) -> Result<Forwarding> {
        let (app, now) = (engine.app.app_id, engine.now());
        match engine.run(move |view| stored::begin(view, app, now))? {
            true => Ok(Forwarding { engine: engine.clone() }),
            false => Err(Error::invalid_argument("forward", OWN_USERS)),
        }
    }

    /// Returns the `force` with which a call that requests a code is passed on: its own, or else the one
    /// that the application has here. The engine is the one that has been called.
    ///
    /// # Errors
    /// [`Error::Rejected`] if the application sends no codes by this channel.
    pub fn force(&self, engine: &Engine, channel: Channel, force: Option<bool>) -> Result<bool> {
        engine.accept_channel(channel, None)?;
        Ok(force.unwrap_or(engine.app.settings.force_codes))
    }

    /// Returns whether this is the application of an engine.
    pub fn is_of(&self, engine: &Engine) -> bool {
        self.engine.app.app_id == engine.app.app_id
    }

    /// Returns whether calls for a user are to be forwarded.
    ///
    /// # Errors
    /// [`Error::Storage`], as all that follow.
    pub fn user_is_there(&self, user_id: UserId) -> Result<bool> {
        let app = self.engine.app.app_id;
        self.engine.look(move |view| stored::is_there(view, app, user_id))
    }

    /// Returns whether the user of a call is to be created there, or is there. An invalid number is for the engine to
    /// reject. A user without a number can only be here.
    ///
    /// # Errors
    /// As above; [`Error::InvalidArgument`] for a user without a number who is not here: the other service has none,
    /// and only it gives new users their ids.
    pub fn new_user_is_there(&self, call: &CreateUser) -> Result<bool> {
        let Ok(phone) = phone_of(call) else { return Ok(false) };
        let (app, email) = (self.engine.app.app_id, call.user.email.as_str().to_owned());
        let has_phone = phone.is_some();
        let place = self
            .engine
            .look(move |view| stored::new_user_is_there(view, app, phone.as_ref(), &email))?;
        match place {
            true if !has_phone => Err(Error::invalid_argument("cellphone", NEEDS_NUMBER)),
            place => Ok(place),
        }
    }

    /// Returns whether an approval request was created there.
    ///
    /// # Errors
    /// As above.
    pub fn approval_is_there(&self, uuid: &ApprovalId) -> Result<bool> {
        let (app, uuid) = (self.engine.app.app_id, uuid.clone());
        self.engine.look(move |view| stored::approval_is_there(view, app, &uuid))
    }

    /// Returns whether the verification of a number began there: none that is known did here.
    ///
    /// # Errors
    /// As above.
    pub fn verification_is_there(&self, which: &PhoneVerificationStatus) -> Result<bool> {
        let app = self.engine.app.app_id;
        let key = match (&which.uuid, &which.phone_number, which.country_code) {
            (Some(uuid), ..) => VerificationKey::Uuid(app, uuid.clone()),
            (None, Some(number), Some(country)) => match Phone::parse(country, number) {
                Ok(phone) => VerificationKey::Number(Subject::Phone(app, phone.e164())),
                Err(_) => return Ok(false),
            },
            _ => return Ok(false),
        };
        let now = self.engine.now();
        self.engine.look(move |view| stored::verification_is_there(view, &key, now))
    }

    /// Stores the information about a user in a reply, and counts the call. Returns whether the user may
    /// come here now, unless the status of the user there speaks against it: see [`Forwarding::take`].
    ///
    /// # Errors
    /// As above. In that case no login has succeeded: the verdict of a code is in the audit before it
    /// counts.
    pub fn seen(&self, user_id: UserId, seen: Learned<'_>) -> Result<bool> {
        let (news, user_ip) = news(seen)?;
        self.note(user_id, news, user_ip)
    }

    fn note(&self, user_id: UserId, news: News, user_ip: Option<IpAddr>) -> Result<bool> {
        let engine = self.engine.current()?;
        let trail = engine.trail_of("verify", engine.now(), user_ip)?;
        let address = engine.wrong_from_address(&trail);
        engine.run(move |view| stored::note(view, user_id, (&news, &address), &trail))
    }

    /// Refuses to forward a code from an address from which too many wrong ones came: wherever users are, the
    /// address tries theirs.
    ///
    /// # Errors
    /// [`Error::RateLimited`] with the limit `address_wrong_hour`; others as above.
    pub fn check_address(&self, user_id: UserId, user_ip: Option<IpAddr>) -> Result<()> {
        // With the limits of now, and not of when this began.
        let engine = self.engine.current()?;
        let now = engine.now();
        let trail = engine.trail_of("verify", now, user_ip)?;
        let address = engine.wrong_from_address(&trail);
        let Some(barred) = engine.look(move |view| address.bar(view))? else { return Ok(()) };
        let noted = Noted::of(user_id, AuditVerdict::Unset).barred(barred);
        engine.note_refusal(trail, &user_id.to_string(), noted)?;
        rejections::barred(barred, now)
    }

    /// Counts a call that is about no user, or that failed.
    ///
    /// # Errors
    /// As above.
    pub fn count(&self, failed: bool) -> Result<()> {
        let app = self.engine.app.app_id;
        self.engine.run(move |view| stored::count(view, app, failed))
    }

    /// Adds a user with this status at the other service, unless something shows that the user has an app there, is
    /// disabled there, or is another user here. Returns whether the user is here now.
    ///
    /// # Errors
    /// As above.
    pub fn take(&self, status: &UserStatusReply) -> Result<bool> {
        let is_app = |kind: &String| kind != "sms";
        let own = status.factors.as_ref();
        let has_more = own.is_some_and(|own| {
            let is_locked =
                own.codes_locked || own.authenticators_locked || own.recovery_codes_locked;
            !own.authenticators.is_empty() || own.recovery_codes > 0 || is_locked
        });
        let stays = status.registered || status.has_hard_token || status.account_disabled;
        if stays || has_more || status.devices.iter().any(is_app) {
            self.note(
                status.user_id,
                News {
                    uses_app: true,
                    confirmed: Some(status.confirmed),
                    asked: true,
                    ..News::default()
                },
                None,
            )?;
            return Ok(false);
        }
        let because = Because::Proven;
        let taken = take(&self.engine, status.user_id, Some(status.confirmed), because)?;
        Ok(taken == Taken::Here)
    }

    /// Stores the other service's status of a user who stays there.
    ///
    /// # Errors
    /// As above.
    pub fn learn(&self, status: &UserStatusReply) -> Result<()> {
        let news = News { confirmed: Some(status.confirmed), asked: true, ..News::default() };
        self.note(status.user_id, news, None).map(drop)
    }

    /// Adds a user who gets a new app here, if the number is known. Returns whether the user is here now.
    ///
    /// # Errors
    /// As above.
    pub fn take_for_new_app(&self, user_id: UserId) -> Result<bool> {
        Ok(take(&self.engine, user_id, None, Because::NewApp)? == Taken::Here)
    }

    /// Forgets a user who was deleted there, and who is not here.
    ///
    /// # Errors
    /// As above.
    pub fn deleted(&self, user_id: UserId) -> Result<()> {
        let app = self.engine.app.app_id;
        self.engine.run(move |view| stored::forget(view, app, user_id))
    }
}

/// Adds a user about whom enough is known.
pub(in crate::engine) fn take(
    engine: &Engine,
    user_id: UserId,
    confirmed: Option<bool>,
    because: Because,
) -> Result<Taken> {
    let app = engine.app.app_id;
    let known = engine.look(move |view| stored::known(view, app, user_id))?;
    let record = known.map(|(phone, email, was_confirmed)| {
        let email: Email =
            email.parse().map_err(|_| crate::engine::store::damaged("forwarded", "email"))?;
        let confirmed = confirmed.unwrap_or(was_confirmed);
        let record = UserRecord::of(Some(user_id), Some(phone), Some(email));
        Ok::<_, Error>(UserRecord { confirmed, sms_used: confirmed, ..record })
    });
    let record = record.transpose()?;
    if let Some(Err(error)) = record.as_ref().map(|record| engine.check_record(record)) {
        return Ok(Taken::Conflict(error.to_string()));
    }
    let trail = engine.trail_of("forward.take", engine.now(), None)?;
    engine.run(move |view| stored::take(view, user_id, (record.as_ref(), because), &trail))
}

/// Forwards the calls for a user who is here again.
pub(in crate::engine) fn give_back(engine: &Engine, user_id: UserId) -> Result<()> {
    let trail = engine.trail_of("forward.return", engine.now(), None)?;
    match engine.run(move |view| stored::give_back(view, user_id, &trail))? {
        Some(true) => Ok(()),
        Some(false) => Err(rejections::user_not_found()),
        None => {
            let reason = "cannot be returned: calls of this application were never forwarded";
            Err(Error::invalid_argument("user_id", reason))
        }
    }
}

/// Returns the information to keep from a reply, and the address that the user's code came from.
fn news(seen: Learned<'_>) -> Result<(News, Option<IpAddr>)> {
    let mut user_ip = None;
    let mut news = News::default();
    match seen {
        Learned::User => {}
        Learned::Created(call) => {
            let known = |phone| (phone, call.user.email.as_str().to_owned());
            news.known = phone_of(call)?.map(known);
        }
        Learned::Sent { forced } => news.sent = Some(forced),
        Learned::App => news.uses_app = true,
        Learned::Checked(checked, from) => {
            news.checked = Some(verdict(checked));
            news.confirmed = (checked == Verdict::Right).then_some(true);
            user_ip = from;
        }
        Learned::Status { confirmed } => news.confirmed = Some(confirmed),
    }
    Ok((news, user_ip))
}

fn verdict(verdict: Verdict) -> AuditVerdict {
    match verdict {
        Verdict::Right => AuditVerdict::Right,
        Verdict::Wrong => AuditVerdict::Wrong,
        Verdict::NotChecked => AuditVerdict::NotChecked,
    }
}
