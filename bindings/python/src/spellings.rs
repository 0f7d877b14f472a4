//! The values of the interface by kind, with which Python's enums must agree.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use seconder::Stage;
use seconder::calls::{
    ActivityType, ApprovalStatus, Channel, InstallMessage, PhoneType, VerificationStatus,
};
use seconder::engine::{ApprovalResponse, DeviceType, LineType};
use seconder::model::CallbackMethod;
use seconder::otp::Algorithm;
use seconder::wire::Format;

#[rustfmt::skip]
fn known() -> Vec<(&'static str, Vec<&'static str>)> {
    use ActivityType as Act;
    use ApprovalStatus as Status;
    vec![
        ("ActivityType", [Act::PasswordReset, Act::Banned, Act::Unbanned, Act::CookieLogin].map(Act::name).into()),
        ("Algorithm", [Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512].map(Algorithm::name).into()),
        ("ApprovalStatus", [Status::Unknown, Status::Pending, Status::Approved, Status::Denied, Status::Expired].map(Status::name).into()),
        ("CallbackMethod", [CallbackMethod::Post, CallbackMethod::Get].map(CallbackMethod::name).into()),
        ("Channel", [Channel::Sms, Channel::Call].map(Channel::name).into()),
        ("DeviceType", [DeviceType::Android, DeviceType::AndroidTablet, DeviceType::Ios, DeviceType::Chrome].map(DeviceType::name).into()),
        ("Format", [Format::Json, Format::Xml].map(Format::name).into()),
        ("InstallMessage", [InstallMessage::Sent, InstallMessage::Queued, InstallMessage::NotConfigured, InstallMessage::NotRequested, InstallMessage::Failed].map(InstallMessage::name).into()),
        ("LineType", LineType::ALL.map(LineType::name).into()),
        ("PhoneType", [PhoneType::Voip, PhoneType::Landline, PhoneType::Cellphone, PhoneType::Unknown].map(PhoneType::name).into()),
        ("VerificationStatus", [VerificationStatus::Pending, VerificationStatus::Verified, VerificationStatus::Expired, VerificationStatus::Unknown].map(VerificationStatus::name).into()),
        ("Stage", [Stage::Dns, Stage::Connect, Stage::Tls, Stage::Response, Stage::Delivery, Stage::Access].map(Stage::name).into()),
        ("ApprovalResponse", [ApprovalResponse::Approve, ApprovalResponse::Deny, ApprovalResponse::Report].map(ApprovalResponse::name).into()),
    ]
}

/// Returns the spellings of each kind, by the name of its enum. A test compares them with the
/// enums.
#[pyfunction]
pub(crate) fn spellings(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for (kind, names) in known() {
        all.set_item(kind, names)?;
    }
    let codes: Vec<&str> = seconder::codes::ALL.iter().map(|(_, code, _)| *code).collect();
    all.set_item("Code", codes)?;
    Ok(all)
}
