//! The rule of each call: who handles it, what is passed on, and what its reply says of a user.

use super::Forward;
use seconder::calls::{
    CheckApproval, CheckPhoneVerification, CodeChannel, CreateApproval, CreateUser, DeleteUser,
    Done, EnrolAuthenticator, PhoneVerificationStatus, RegisterActivity, RequestCode, SetNumber,
    UserStatus, Verification, Verify,
};
use seconder::engine::{Engine, Learned};
use seconder::model::UserId;
use seconder::{Call, Error, Rejection, Result, codes, with_every_call};

/// A call, as far as it is passed on.
pub(super) trait Passed: Call + Clone {
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
    (SetNumber) => {};
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
        let is_there = forward.known.new_user_is_there(self)?;
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

impl<By: CodeChannel> Passed for RequestCode<By> {
    const IS_FORWARDED: bool = true;

    /// The facts that are learnt depend on `force`, so the default of the other service must not decide.
    fn as_passed(&self, forward: &Forward, engine: &Engine) -> Result<RequestCode<By>> {
        let force = forward.known.force(engine, By::CHANNEL, self.force)?;
        Ok(RequestCode { force: Some(force), ..self.clone() })
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

impl Passed for SetNumber {
    /// The other service would go on returning the id of the user for the former number.
    fn is_there(&self, _forward: &Forward) -> Result<bool> {
        let message =
            "Phone numbers cannot be changed while calls are forwarded to another service.";
        Err(Error::rejected(503, None, message))
    }
}

impl Passed for PhoneVerificationStatus {
    fn is_there(&self, forward: &Forward) -> Result<bool> {
        forward.known.verification_is_there(self)
    }
}

pub(super) fn is_unknown_user(why: &Rejection) -> bool {
    why.status == 404 && why.code.as_deref() == Some(codes::USER_NOT_FOUND)
}

fn not_here() -> Error {
    Error::rejected(
        404,
        Some(codes::USER_NOT_FOUND),
        "The user is at the service to which calls are forwarded, which does not have this call.",
    )
}
