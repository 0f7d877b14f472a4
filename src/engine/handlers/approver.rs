//! The approver: devices of users that sign their requests, with a key that never leaves them. They register by an
//! invitation, show the open approval requests of their user and respond to them, and show codes. docs/approver.md
//! describes the protocol; this implements all of it except the HTTP.

mod invitations;
mod logos;
mod published;
mod pushes;
mod refused;
mod signed;

pub use invitations::{CodesOfDevice, PresentedDevice, RegisteredBy, invitation_code, misleads};
pub use logos::KeptLogo;
pub use published::{APPROVER_PATH, hash_of, origin};
pub use pushes::Subscription;
pub use refused::Refused;
pub use signed::{
    DeviceOverview, DeviceSettings, OtherDevice, ShownRequest, SignedDevice, SignedRequest,
    SignedResponse,
};
