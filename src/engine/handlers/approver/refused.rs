//! The reasons why a request of a device is refused.

use crate::Error;
use crate::calls::ApprovalStatus;
use std::fmt;

/// The reason why a request of a device is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// No user was invited with this code.
    InvitationUnknown,
    /// A device was registered with this code already.
    InvitationSpent,
    /// The code is too old.
    InvitationExpired,
    /// The user has as many devices as one can have.
    TooManyDevices,
    /// The signature of a new device was not made with its key.
    Signature,
    /// The device is not registered, or the signature was not made with its key.
    Unauthorized,
    /// The signature is right, and the time in it is more than a minute off.
    Clock,
    /// The user has no such request.
    NotFound,
    /// The request can no longer be responded to.
    NotPending(ApprovalStatus),
    /// The request is another one than the device has shown.
    Changed,
    /// The number does not match the request, and can be typed once more.
    WrongNumber,
    /// The number was wrong for the last time, and the request is denied.
    WrongNumberDenied,
    /// Something in the request is invalid, or the service failed.
    Failed(Error),
}

/// The error as the reply reports it.
impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        let (status, code) = match refused {
            Refused::Failed(error) => return error,
            Refused::InvitationUnknown => (404, "invitation_unknown"),
            Refused::InvitationSpent => (409, "invitation_spent"),
            Refused::InvitationExpired => (410, "invitation_expired"),
            Refused::TooManyDevices => (409, "too_many_devices"),
            Refused::Signature => (401, "signature"),
            Refused::Unauthorized => (401, "unauthorized"),
            Refused::Clock => (401, "clock"),
            Refused::NotFound => (404, "not_found"),
            Refused::NotPending(ApprovalStatus::Expired) => (409, "expired"),
            Refused::NotPending(_) => (409, "not_pending"),
            Refused::Changed => (409, "changed"),
            Refused::WrongNumber => (422, "wrong_number"),
            Refused::WrongNumberDenied => (409, "wrong_number_denied"),
        };
        Error::rejected(status, Some(code), refused.to_string())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Refused::InvitationUnknown => "there is no such invitation",
            Refused::InvitationSpent => "a device was registered by this invitation already",
            Refused::InvitationExpired => "the invitation has expired",
            Refused::TooManyDevices => "the user has five devices: remove one of them first",
            Refused::Signature => "the signature is not that of the key",
            Refused::Unauthorized => "the device is not registered, or did not sign this",
            Refused::Clock => "the time is more than a minute off: see the header Date",
            Refused::NotFound => "there is no such request",
            Refused::NotPending(ApprovalStatus::Expired) => "the request has expired",
            Refused::NotPending(_) => "somebody has responded to the request already",
            Refused::Changed => "the request is another one than was shown",
            Refused::WrongNumber => "the number is wrong: it can be typed once more",
            Refused::WrongNumberDenied => "the number was wrong twice, so the request is denied",
            Refused::Failed(error) => return error.fmt(f),
        };
        f.write_str(text)
    }
}

impl std::error::Error for Refused {}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Failed(error)
    }
}
