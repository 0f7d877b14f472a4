//! An engine to which an application moves: calls for users and codes that are not here yet are passed on to the
//! service before it, by the client of this project, and users come over one by one.

use seconder::calls::{
    CheckApproval, CheckPhoneVerification, CreateApproval, CreateUser, DeleteUser, Done,
    EnrolAuthenticator, MatchedCall, PhoneVerificationStatus, RegisterActivity, RequestCall,
    RequestSms, UserStatus, UserStatusReply, Verification, Verify,
};
use seconder::engine::{Engine, Forwarding, Learned};
use seconder::http::Backend;
use seconder::model::{ApiKey, UserId};
use seconder::wire::{Generation, Names, Reply};
use seconder::{Call, Error, Handle, Rejection, Result, Service, codes, with_every_call};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The most calls that wait for the other service at once: of the threads that handle calls, this leaves half for users
/// who are here, also while it hangs.
const MOST: usize = 64;
/// The time after which a client may try again, if there are more.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The time within which the other service has to return the status of a user, while the user waits for another reply.
const QUESTION: Duration = Duration::from_secs(2);

/// An engine, and the service before it. Clones are the same.
#[derive(Clone)]
pub struct Forward {
    engine: Engine,
    known: Forwarding,
    old: Service,
    waiting: Arc<AtomicUsize>,
}

impl Forward {
    /// Forwards calls of this engine's application to a service that was opened as a client, with
    /// [`Settings::forwarding`](seconder::Settings::forwarding).
    ///
    /// # Errors
    /// As [`Forwarding::begin`].
    pub fn begin(engine: Engine, old: Service) -> Result<Forward> {
        let known = Forwarding::begin(&engine)?;
        Ok(Forward { engine, known, old, waiting: Arc::default() })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Makes a call to the other service.
    fn ask<C: Call>(&self, call: &C) -> Result<C::Reply>
    where
        Service: Handle<C>,
    {
        let _place = Waiting::begin(&self.waiting)?;
        let reply = self.old.handle(call);
        if let Err(error) = &reply {
            self.known.count(is_failure(error))?;
        }
        reply.map_err(worded)
    }

    /// Returns the status of a user at the other service, while another call for the user waits; `None` if it does not
    /// respond in time.
    fn status(&self, user_id: UserId) -> Option<UserStatusReply> {
        let _place = Waiting::begin(&self.waiting).ok()?;
        let asked = self.old.with_timeout(QUESTION).handle(&UserStatus::new(user_id));
        asked.ok().filter(|status| status.user_id == user_id)
    }

    /// Takes a user over whom nothing keeps there. If that fails, nothing is lost: the next code tries again.
    fn take(&self, user_id: UserId, must_be_new: bool) {
        let Some(status) = self.status(user_id) else { return };
        let _ = match must_be_new && status.confirmed {
            true => self.known.learn(&status),
            false => self.known.take(&status).map(drop),
        };
    }
}

impl Backend for Forward {
    fn names(&self) -> &Names {
        Backend::names(&self.engine)
    }

    fn replies(&self) -> Generation {
        Backend::replies(&self.engine)
    }

    fn user_with_login(&self, login: &str) -> Result<Option<UserId>> {
        self.engine.user_with_login(login)
    }

    /// The protection of an account that is at the other service is not known here, so changes of it are for the
    /// application to make.
    fn check_own_account(&self, call: &MatchedCall, user_id: UserId) -> Result<()> {
        if call.changes_protection() && self.known.user_is_there(user_id)? {
            return Err(rejected(
                403,
                codes::INVALID_REQUEST,
                "Users who are at the service to which calls are forwarded cannot change their own account \
                 here: an administrator can.",
            ));
        }
        Backend::check_own_account(&self.engine, call, user_id)
    }

    fn had_key(&self, key: &ApiKey) -> bool {
        self.engine().had_key(key)
    }

    fn keeps_key(&self, key: &ApiKey) -> bool {
        self.engine().keeps_key(key)
    }

    fn check_key(&self, key: &ApiKey) -> Result<()> {
        self.engine.check_key(key)
    }

    fn forwards(&self) -> bool {
        true
    }

    fn handle_call(
        &self,
        key: Option<&ApiKey>,
        call: MatchedCall,
        params: Map<String, Value>,
    ) -> Result<Reply> {
        let by = |engine: Engine| {
            let forward = self.known.is_of(&engine).then_some(self);
            Handler { engine, forward }
        };
        self.engine.handle_call_by(key, call, params, by)
    }
}

/// A call that waits for the other service.
struct Waiting<'a>(&'a AtomicUsize);

impl Waiting<'_> {
    fn begin(waiting: &AtomicUsize) -> Result<Waiting<'_>> {
        let place = Waiting(waiting);
        if waiting.fetch_add(1, Ordering::Relaxed) < MOST {
            return Ok(place);
        }
        let message = "Too many calls wait for the service before this one. Try again later.";
        let retry_after = Some(RETRY_AFTER);
        Err(Error::RateLimited { message: message.into(), retry_after, code: None, limit: None })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Handles the calls of an application.
struct Handler<'a> {
    engine: Engine,
    /// The move of the application; `None` for the other applications of the database.
    forward: Option<&'a Forward>,
}

impl<C: Passed> Handle<C> for Handler<'_>
where
    Engine: Handle<C>,
    Service: Handle<C>,
{
    fn handle(&self, call: &C) -> Result<C::Reply> {
        let Some(forward) = self.forward else { return self.engine.handle(call) };
        if !call.is_there(forward)? {
            return call.handle_here(forward, || self.engine.handle(call));
        }
        let call = call.as_passed(forward, &self.engine)?;
        let reply = forward.ask(&call)?;
        match call.seen(&reply) {
            Some((user_id, seen)) => {
                if forward.known.seen(user_id, seen)? {
                    forward.take(user_id, matches!(seen, Learned::Created(_)));
                }
            }
            None => forward.known.count(false)?,
        }
        Ok(reply)
    }

    fn prepare(&self, params: &mut Map<String, Value>) -> Result<Option<C::Reply>> {
        let prepared = self.engine.prepare(params);
        match (&prepared, self.forward, C::malformed()) {
            (Err(Error::Rejected(why)), Some(_), Some(reply)) if is_unknown_user(why) => {
                Ok(Some(reply))
            }
            _ => prepared,
        }
    }
}

/// A call, as far as it is passed on.
trait Passed: Call + Clone {
    /// True if the other service has the call, for users who are there. Otherwise, a call for one of them is rejected.
    const IS_FORWARDED: bool = false;

    /// Returns whether the other service handles it.
    fn is_there(&self, forward: &Forward) -> Result<bool> {
        let Some(user_id) = self.user() else { return Ok(false) };
        match forward.known.user_is_there(user_id)? {
            true if !Self::IS_FORWARDED => Err(not_here()),
            is_there => Ok(is_there),
        }
    }

    /// Returns the call as it is passed on, if the settings of the application here allow it.
    fn as_passed(&self, _forward: &Forward, _engine: &Engine) -> Result<Self> {
        Ok(self.clone())
    }

    /// Returns the user of a reply, and the facts about the user that can be learnt from it.
    fn seen<'a>(&'a self, _reply: &Self::Reply) -> Option<(UserId, Learned<'a>)> {
        self.user().map(|user_id| (user_id, Learned::User))
    }

    /// Handles a call for a user who is here.
    fn handle_here(
        &self,
        _forward: &Forward,
        here: impl FnOnce() -> Result<Self::Reply>,
    ) -> Result<Self::Reply> {
        here()
    }

    /// Returns the reply to parameters that do not fit this call, if the user need not be known for it.
    fn malformed() -> Option<Self::Reply> {
        None
    }
}

macro_rules! passed {
    ($($call:ident),* $(,)?) => { $(passed_one!($call);)* };
}

macro_rules! passed_one {
    // These calls have an implementation below.
    (CreateUser) => {};
    (RequestSms) => {};
    (RequestCall) => {};
    (Verify) => {};
    (RegisterActivity) => {};
    (UserStatus) => {};
    (CreateApproval) => {};
    (EnrolAuthenticator) => {};
    (DeleteUser) => {};
    (CheckApproval) => {};
    (CheckPhoneVerification) => {};
    (PhoneVerificationStatus) => {};
    ($call:ident) => {
        impl Passed for seconder::calls::$call {}
    };
}

with_every_call!(passed);

impl Passed for RegisterActivity {
    const IS_FORWARDED: bool = true;
}

impl Passed for CreateApproval {
    const IS_FORWARDED: bool = true;
}

impl Passed for CreateUser {
    /// New users are created there first, so that no two users have the same id.
    fn is_there(&self, forward: &Forward) -> Result<bool> {
        let is_there =
            forward.known.number_is_there(self.user.country_code, &self.user.cellphone)?;
        if is_there && self.new_only {
            let reason = "cannot be used while calls are forwarded: the other service does not say \
                          whether a user is new";
            return Err(Error::InvalidArgument {
                parameter: "new_only".into(),
                reason: reason.into(),
            });
        }
        Ok(is_there)
    }

    /// The message would have a link to the app of the other service.
    fn as_passed(&self, _forward: &Forward, _engine: &Engine) -> Result<CreateUser> {
        Ok(CreateUser { send_install_link_via_sms: false, ..self.clone() })
    }

    fn seen<'a>(&'a self, reply: &Self::Reply) -> Option<(UserId, Learned<'a>)> {
        Some((reply.user_id, Learned::Created(self)))
    }
}

impl Passed for RequestSms {
    const IS_FORWARDED: bool = true;

    /// The facts that are learnt depend on `force`, so the default of the other service must not decide.
    fn as_passed(&self, forward: &Forward, engine: &Engine) -> Result<RequestSms> {
        let force = forward.known.force(engine, seconder::calls::Channel::Sms, self.force)?;
        Ok(RequestSms { force: Some(force), ..self.clone() })
    }

    fn seen<'a>(&'a self, reply: &Self::Reply) -> Option<(UserId, Learned<'a>)> {
        let sent = Learned::Sent { forced: self.force == Some(true) };
        Some((self.user_id, if reply.ignored { Learned::App } else { sent }))
    }
}

impl Passed for RequestCall {
    const IS_FORWARDED: bool = true;

    /// The facts that are learnt depend on `force`, so the default of the other service must not decide.
    fn as_passed(&self, forward: &Forward, engine: &Engine) -> Result<RequestCall> {
        let force = forward.known.force(engine, seconder::calls::Channel::Call, self.force)?;
        Ok(RequestCall { force: Some(force), ..self.clone() })
    }

    fn seen<'a>(&'a self, reply: &Self::Reply) -> Option<(UserId, Learned<'a>)> {
        let sent = Learned::Sent { forced: self.force == Some(true) };
        Some((self.user_id, if reply.ignored { Learned::App } else { sent }))
    }
}

impl Passed for Verify {
    fn is_there(&self, forward: &Forward) -> Result<bool> {
        let is_there = forward.known.user_is_there(self.user_id)?;
        if is_there {
            forward.known.check_address(self.user_id, self.user_ip)?;
        }
        Ok(is_there)
    }

    fn seen<'a>(&'a self, reply: &Verification) -> Option<(UserId, Learned<'a>)> {
        Some((self.user_id, Learned::Checked(reply.verdict, self.user_ip)))
    }

    /// An invalid code belongs to no user, so it is wrong for all of them.
    fn malformed() -> Option<Verification> {
        Some(Verification::default())
    }
}

impl Passed for UserStatus {
    const IS_FORWARDED: bool = true;

    fn seen<'a>(&'a self, reply: &Self::Reply) -> Option<(UserId, Learned<'a>)> {
        Some((self.user_id, Learned::Status { confirmed: reply.confirmed }))
    }
}

impl Passed for EnrolAuthenticator {
    /// A user who gets a new app gets it here, if enough is known.
    fn is_there(&self, forward: &Forward) -> Result<bool> {
        let known = &forward.known;
        if !known.user_is_there(self.user_id)? {
            return Ok(false);
        }
        // A user who is confirmed there has to be so here.
        let Some(status) = forward.status(self.user_id) else { return Ok(true) };
        known.learn(&status)?;
        Ok(!known.take_for_new_app(self.user_id)?)
    }

    fn seen<'a>(&'a self, _reply: &Self::Reply) -> Option<(UserId, Learned<'a>)> {
        Some((self.user_id, Learned::App))
    }
}

impl Passed for DeleteUser {
    /// A user is deleted there first: otherwise a user who is deleted here would be there again.
    fn is_there(&self, _forward: &Forward) -> Result<bool> {
        Ok(false)
    }

    fn handle_here(&self, forward: &Forward, here: impl FnOnce() -> Result<Done>) -> Result<Done> {
        let there = match forward.ask(self) {
            Ok(done) => {
                forward.known.count(false)?;
                Some(done)
            }
            // The code of the error does not matter: the interface has none for it.
            Err(Error::Rejected(why)) if why.status == 404 => None,
            Err(error) => return Err(error),
        };
        match (here(), there) {
            (Err(Error::Rejected(why)), Some(done)) if is_unknown_user(&why) => {
                forward.known.deleted(self.user_id)?;
                Ok(done)
            }
            (here, _) => here,
        }
    }
}

impl Passed for CheckApproval {
    fn is_there(&self, forward: &Forward) -> Result<bool> {
        forward.known.approval_is_there(&self.uuid)
    }
}

impl Passed for CheckPhoneVerification {
    fn is_there(&self, forward: &Forward) -> Result<bool> {
        let number = self.phone_number.clone();
        let latest = PhoneVerificationStatus::of_number(number, self.country_code);
        forward.known.verification_is_there(&latest)
    }
}

impl Passed for PhoneVerificationStatus {
    fn is_there(&self, forward: &Forward) -> Result<bool> {
        forward.known.verification_is_there(self)
    }
}

fn is_unknown_user(why: &Rejection) -> bool {
    why.status == 404 && why.code.as_deref() == Some(codes::USER_NOT_FOUND)
}

fn not_here() -> Error {
    rejected(
        404,
        codes::USER_NOT_FOUND,
        "The user is at the service to which calls are forwarded, which does not have this call.",
    )
}

fn rejected(status: u16, code: &str, message: impl Into<String>) -> Error {
    let message = message.into();
    let fields = [("message".to_owned(), message.clone())].into();
    Error::Rejected(Box::new(Rejection { status, code: Some(code.into()), message, fields }))
}

/// Returns whether the other service gave no usable reply.
fn is_failure(error: &Error) -> bool {
    match error {
        Error::Rejected(why) => why.status >= 500,
        Error::RateLimited { .. } | Error::InvalidArgument { .. } => false,
        _ => true,
    }
}

/// Returns the error for the client, which knows nothing of the other service and its key.
fn worded(error: Error) -> Error {
    let failed = |status, what: &str, why: String| {
        let message = format!("The service to which calls are forwarded {what}: {why}");
        rejected(status, codes::UNSPECIFIC, message)
    };
    match error {
        Error::Unavailable { message, .. } => failed(503, "failed", message),
        Error::InvalidResponse { message } => failed(502, "is not understood", message),
        Error::Unauthorized { message, .. } => {
            failed(503, "rejected the API key of this service", message)
        }
        other => other,
    }
}
