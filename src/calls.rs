//! The interface, call by call. Each file declares one call: its route, its parameters and its
//! reply. The client, the service, the bindings and the documents are derived from it.

mod app_details;
mod app_stats;
mod check_approval;
mod check_phone_verification;
mod confirm_authenticator;
mod create_approval;
mod create_recovery_codes;
mod create_user;
mod delete_user;
mod devices;
mod enrol_authenticator;
mod factors;
pub(crate) mod failure;
mod find_user;
mod forget;
mod free_form;
mod invite_device;
mod matched;
mod parameters;
mod phone_info;
mod phone_verification_status;
mod prepare_offline;
mod recognise;
mod register_activity;
mod remember;
mod remove_authenticator;
mod remove_device;
mod remove_login;
mod report_offline;
mod request_code;
mod route;
mod set_login;
mod set_number;
mod start_phone_verification;
mod unlock_user;
mod user_status;
mod verify;

#[cfg(all(feature = "engine", feature = "https"))]
pub(crate) use failure::error_of;
#[cfg(feature = "engine")]
pub(crate) use failure::unauthorized;

pub use app_details::{AppDetails, Application};
pub use app_stats::{AppStats, MonthlyStatistic, Statistics};
pub use check_approval::{Approval, ApprovalStatus, CheckApproval};
pub use check_phone_verification::CheckPhoneVerification;
#[cfg(feature = "engine")]
pub(crate) use check_phone_verification::verification_code_wrong;
pub use confirm_authenticator::ConfirmAuthenticator;
pub use create_approval::{ApprovalCreated, CreateApproval, Logo};
pub use create_recovery_codes::{CreateRecoveryCodes, RecoveryCodes};
pub use create_user::{CreateUser, InstallMessage, NewUser, UserCreated};
pub use delete_user::DeleteUser;
pub use devices::{Devices, RegisteredDevices};
pub use enrol_authenticator::{AuthenticatorEnrolled, EnrolAuthenticator};
pub use factors::{Authenticator, Factors, RegisteredDevice};
#[cfg(feature = "engine")]
pub(crate) use failure::{
    approval_not_found, authenticator_not_found, device_not_found, login_not_found,
    no_pending_authenticator, user_not_found,
};
pub use find_user::{FindUser, FoundUser};
pub use forget::Forget;
use free_form::{is_kept, is_small};
pub use invite_device::{DeviceInvited, InviteDevice};
pub use matched::{MatchedCall, RouteMatch, dispatch, match_route};
pub use parameters::parameters;
pub use phone_info::{PhoneInfo, PhoneInformation, PhoneType};
pub use phone_verification_status::{
    PhoneVerificationRecord, PhoneVerificationStatus, VerificationStatus,
};
pub use prepare_offline::{MOST_OFFLINE_DAYS, OfflinePrepared, PrepareOffline};
pub use recognise::{BrowserCheck, Recognise, Recognition};
pub use register_activity::{ActivityType, RegisterActivity};
pub use remember::{MOST_REMEMBERED_DAYS, Remember, Remembered};
pub use remove_authenticator::RemoveAuthenticator;
pub use remove_device::RemoveDevice;
pub use remove_login::RemoveLogin;
pub use report_offline::{OfflineLogin, ReportOffline};
pub use request_code::{
    ByCall, BySms, CodeChannel, CodeRequested, RequestCall, RequestCode, RequestSms,
};
pub use route::{InPath, Route};
pub use set_login::SetLogin;
pub use set_number::SetNumber;
pub use start_phone_verification::{Channel, PhoneVerificationStarted, StartPhoneVerification};
pub use unlock_user::UnlockUser;
pub use user_status::{UserStatus, UserStatusReply};
pub use verify::{Device, Verdict, Verification, Verify};

use crate::model::UserId;
use crate::wire::{Format, Generation, Reply, Request, Wiping, loose, object, older, wipe};
use crate::{Error, Result, codes};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// The name on the wire of a user's id, which this library calls `user_id`. Some calls use
/// `user_id` on the wire as well, so the name is translated per call: by serde in each call's
/// declaration, and by the route where calls are made by name.
pub const USER_ID_ON_THE_WIRE: &str = "svc_id";

/// What the paths of calls begin with that only this project's service has. No path of the interface
/// begins so, and names that a service translates never do: see [`Names`](crate::wire::Names).
const OWN_PATHS: &str = "/-/";

/// A call of the interface. Its fields are the parameters, by their names on the wire.
pub trait Call: Serialize + DeserializeOwned {
    /// Where the call goes.
    const ROUTE: Route;
    /// The service's error code for an invalid parameter.
    const INVALID: &'static str = codes::INVALID_PARAMETER;
    /// The service's error code for an invalid `phone_number`.
    const INVALID_NUMBER: &'static str = codes::INVALID_PHONE_NUMBER;
    /// Whether the call changes nothing, so that a client may retry it when it is rate limited.
    const REPEATABLE: bool = false;
    /// How the older generation words a success (interface 9). Push calls are the same in both.
    const OLDER: older::Shape = older::Shape::Flag;
    /// Whether a success must have the field `success`, because no other field of the reply would
    /// show that the service carried the call out.
    const MUST_SAY_SUCCESS: bool = false;
    /// The parameters that hold any JSON object. A form turns the numbers and flags in them into
    /// text, and leaves out nulls, empty lists and empty objects.
    const FREE_FORM: &'static [&'static str] = &[];
    /// Whether `success` is text in every reply, as in that to a verification (interface 4.4).
    const SUCCESS_IS_TEXT: bool = false;
    /// Whether a client sends the API key in the header in the older generation too, as push calls
    /// do (interface 5.4).
    const KEY_IN_HEADER: bool = false;
    /// The object of the body that holds the reply's fields, all but [`Call::BESIDE`].
    const REPLY_OBJECT: Option<&'static str> = None;
    /// The reply's fields that are at the top level of the body, beside that object.
    const BESIDE: &'static [&'static str] = &["message"];
    /// Whether a login process may make the call over a local socket, for any user.
    const FOR_LOGIN: bool = false;
    /// Whether a user may make the call over a local socket for their own account: the one whose
    /// login name is the user's on this machine.
    const FOR_OWN_ACCOUNT: bool = false;
    /// Whether the call changes what protects an account, so that a user who makes it for their own
    /// account is checked first: see
    /// [`Backend::check_own_account`](crate::http::Backend::check_own_account). Unless a call says
    /// otherwise, that is each one for the own account which changes anything.
    const CHANGES_PROTECTION: bool = Self::FOR_OWN_ACCOUNT && !Self::REPEATABLE;
    /// Whether an engine may wait for others than its database while it handles the call: for a gateway
    /// that sends a message, or for a provider that looks up a number.
    const WAITS_FOR_OTHERS: bool = false;
    /// The reply to a call that succeeded.
    type Reply: Serialize + DeserializeOwned;

    /// Rejects arguments that the types of the fields cannot rule out, before anything is sent or
    /// changed.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the name of the argument.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Reads a service's reply.
    ///
    /// # Errors
    /// Every reply that is not clearly a success is converted to an error.
    fn read(reply: Reply) -> Result<Self::Reply> {
        read::<Self>(reply)
    }

    /// Reads a service's reply to this call. One that describes something else than the call names
    /// is an error too.
    ///
    /// # Errors
    /// As [`Call::read`], and [`Error::InvalidResponse`].
    fn read_own(&self, reply: Reply) -> Result<Self::Reply> {
        Self::read(reply)
    }

    /// The user that the call is about, for the log.
    fn user(&self) -> Option<UserId> {
        None
    }

    /// The user that a reply is about, for the log.
    fn user_of(_reply: &Self::Reply) -> Option<UserId> {
        None
    }

    /// The reply as that to a verification, if it is one, for the log.
    fn verification(_reply: &Self::Reply) -> Option<&Verification> {
        None
    }

    /// Says for the log if the reply recognises a browser. `None` if the call does not ask for that.
    fn recognition(_reply: &Self::Reply) -> Option<Recognition> {
        None
    }

    /// Writes a service's reply.
    fn write(answer: &Self::Reply) -> Reply {
        let mut body = object(answer);
        if let Some(name) = Self::REPLY_OBJECT {
            let beside = take(&mut body, Self::BESIDE);
            body = [(name.to_owned(), Value::Object(body))].into_iter().chain(beside).collect();
        }
        body.insert("success".into(), true.into());
        Reply::new(200, Value::Object(body))
    }
}

/// Handles calls: a client by sending them to a service, an engine by itself.
pub trait Handle<C: Call> {
    /// Handles the call.
    ///
    /// # Errors
    /// See [`Error`]; an error never lets a user in.
    fn handle(&self, call: &C) -> Result<C::Reply>;

    /// Sees the parameters of a request from another program before they are read as the call.
    /// It may rewrite them, where it accepts more spellings than the call's types do, and it may
    /// reply, where the interface has a reply to parameters that those types reject.
    ///
    /// # Errors
    /// As for [`Handle::handle`].
    fn prepare(&self, _params: &mut Map<String, Value>) -> Result<Option<C::Reply>> {
        Ok(None)
    }
}

/// The reply to a call that returns only a message.
#[cfg_attr(false, c(optional))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Done {
    /// The service's message.
    pub message: Option<String>,
}

impl Done {
    #[cfg(feature = "engine")]
    pub(crate) fn with_message(message: &str) -> Done {
        Done { message: Some(message.into()) }
    }
}

/// Returns whether a path is that of a call that only this project's service has.
#[cfg(feature = "remote")]
pub(crate) fn is_own(path: &str) -> bool {
    path.starts_with(OWN_PATHS)
}

/// The request that a client sends for a call.
pub fn request<C: Call>(call: &C, format: Format, generation: Generation) -> Request {
    C::ROUTE.request(format, generation, object(call))
}

fn handle<C: Call>(
    service: &impl Handle<C>,
    mut in_path: InPath,
    mut params: Map<String, Value>,
    replies: Generation,
) -> Reply {
    // Clients send every parameter that they know, and leave empty what was not given.
    params.retain(|_, value| !value.is_null() && value.as_str() != Some(""));
    // Where the path and the parameters name one field, the path wins: a parameter must not turn a
    // call to another user than its path names.
    let ids = failure::check_ids(&in_path.fields);
    for (name, value) in in_path.take_fields() {
        drop(params.insert(name, value).map(Wiping));
    }
    match read_and_handle::<C>(service, params, ids) {
        Ok(answer) => {
            let mut reply = C::write(&answer);
            if replies == Generation::Older {
                older::downgrade(C::OLDER, &mut reply.body);
            }
            reply
        }
        Err(error) => failure::write::<C>(&error, replies),
    }
}

fn read_and_handle<C: Call>(
    service: &impl Handle<C>,
    mut params: Map<String, Value>,
    ids: Result<()>,
) -> Result<C::Reply> {
    match ids.and_then(|()| service.prepare(&mut params)).transpose() {
        None => {
            let call: C = loose::read(params)?;
            call.check()?;
            service.handle(&call)
        }
        Some(reply) => {
            params.values_mut().for_each(wipe);
            reply
        }
    }
}

/// How most calls read their replies.
fn read<C: Call>(reply: Reply) -> Result<C::Reply> {
    if let Some(error) = failure::lacks_call(&C::ROUTE, &reply) {
        return Err(error);
    }
    let place = C::REPLY_OBJECT.map(|name| (name, C::BESIDE));
    let fields = success_fields(reply, C::OLDER, C::MUST_SAY_SUCCESS, place)?;
    loose::read(fields).map_err(|mismatch| Error::invalid_response(mismatch.to_string()))
}

/// The fields of a reply that is clearly a success. `place` is the object that holds them, and the
/// fields beside it.
fn success_fields(
    mut reply: Reply,
    older: older::Shape,
    must_say_success: bool,
    place: Option<(&str, &[&str])>,
) -> Result<Map<String, Value>> {
    older::upgrade(older, &mut reply.body);
    let mut fields = failure::success(reply, must_say_success)?;
    if let Some((name, beside)) = place {
        let beside = take(&mut fields, beside);
        fields = match fields.shift_remove(name) {
            Some(Value::Object(inner)) => inner,
            _ => return Err(Error::invalid_response(format!("the body has no object `{name}`"))),
        };
        fields.extend(beside);
    }
    Ok(fields)
}

/// Takes fields out of an object.
fn take(from: &mut Map<String, Value>, names: &[&str]) -> Vec<(String, Value)> {
    names.iter().filter_map(|name| from.shift_remove_entry(*name)).collect()
}

/// The reply for an error of a request that reaches no call, on a path of the interface document. It
/// is worded as by the calls with such paths.
pub fn failure(error: &Error, path: &str, replies: Generation) -> Reply {
    let mut parts = path.split('/').skip(1);
    match (parts.next(), parts.nth(1)) {
        (Some("push"), _) => failure::write::<CheckApproval>(error, replies),
        (_, Some("verify")) => failure::write_early::<Verify>(error, replies),
        _ => failure::write::<AppDetails>(error, replies),
    }
}

/// Writes the reply to an error, in a generation.
#[cfg(feature = "engine")]
type FailureWriter = fn(&Error, Generation) -> Reply;

/// Reads one call's parameters and lets a service handle the call.
type HandleMatched<S> = fn(&S, InPath, Map<String, Value>, Generation) -> Reply;

macro_rules! calls {
    ($($call:ident),* $(,)?) => {
        /// Every call, in the order of the interface document. The last eighteen are not in it: real
        /// services have three of them, and only this project's service has those whose paths begin
        /// with `/-/`.
        pub const ROUTES: &[&Route] = &[$(&$call::ROUTE),*];

        /// Writes the errors that precede each call, in the order of `ROUTES`.
        #[cfg(feature = "engine")]
        const FAILURES: [FailureWriter; ROUTES.len()] = [$(failure::write_early::<$call>),*];

        /// `Call::REPEATABLE` of each call, in the order of `ROUTES`.
        pub const REPEATABLE: [bool; ROUTES.len()] = [$($call::REPEATABLE),*];

        /// `Call::FOR_LOGIN` of each call, in the order of `ROUTES`.
        const FOR_LOGIN: [bool; ROUTES.len()] = [$($call::FOR_LOGIN),*];

        /// `Call::FOR_OWN_ACCOUNT` of each call, in the order of `ROUTES`.
        const FOR_OWN_ACCOUNT: [bool; ROUTES.len()] = [$($call::FOR_OWN_ACCOUNT),*];

        /// `Call::CHANGES_PROTECTION` of each call, in the order of `ROUTES`.
        const CHANGES_PROTECTION: [bool; ROUTES.len()] = [$($call::CHANGES_PROTECTION),*];

        /// `Call::WAITS_FOR_OTHERS` of each call, in the order of `ROUTES`.
        const WAITS_FOR_OTHERS: [bool; ROUTES.len()] = [$($call::WAITS_FOR_OTHERS),*];

        /// Handles every call of the interface.
        pub trait HandleAll: $(Handle<$call> +)* {
            #[doc(hidden)]
            fn handle_matched(
                &self,
                call: MatchedCall,
                params: Map<String, Value>,
                replies: Generation,
            ) -> Reply;
        }

        impl<S: $(Handle<$call> +)*> HandleAll for S {
            fn handle_matched(
                &self,
                call: MatchedCall,
                params: Map<String, Value>,
                replies: Generation,
            ) -> Reply {
                // In the order of `ROUTES`, since both are written from one list.
                let handlers: [HandleMatched<Self>; ROUTES.len()] = [$(handle::<$call>),*];
                handlers[call.index](self, call.in_path, params, replies)
            }
        }
    };
}

/// Passes the names of all calls to a macro, in the order of [`ROUTES`].
#[doc(hidden)]
#[macro_export]
macro_rules! with_every_call {
    ($then:ident) => {
        $then! {
            CreateUser,
            RequestSms,
            RequestCall,
            Verify,
            DeleteUser,
            RegisterActivity,
            AppDetails,
            UserStatus,
            AppStats,
            StartPhoneVerification,
            PhoneInfo,
            CreateApproval,
            CheckApproval,
            CheckPhoneVerification,
            PhoneVerificationStatus,
            EnrolAuthenticator,
            FindUser,
            SetLogin,
            RemoveLogin,
            CreateRecoveryCodes,
            PrepareOffline,
            ReportOffline,
            ConfirmAuthenticator,
            RemoveAuthenticator,
            Devices,
            RemoveDevice,
            Remember,
            Recognise,
            Forget,
            UnlockUser,
            InviteDevice,
            SetNumber,
        }
    };
}

with_every_call!(calls);

fn is_false(flag: &bool) -> bool {
    !flag
}

fn yes() -> bool {
    true
}
