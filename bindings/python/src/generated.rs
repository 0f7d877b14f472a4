//! Written by tools/generate from src/calls/*.rs: the calls by their names.

use crate::calls::{Handler, check, handle, recognise, typed};
use crate::fields::with_new_user_id;
use seconder::calls::*;
use seconder::model::{Token, VerificationCode};

/// The parameters with fields that the interface defines.
pub(crate) const MADE_OF_FIELDS: [&str; 3] = ["logins", "logos", "user"];

/// The calls, in the order of the interface document.
pub(crate) const CALLS: &[(&str, Handler)] = &[
    ("create_user", |service, params| handle::<CreateUser>(service, params).map(with_new_user_id)),
    ("request_sms", handle::<RequestSms>),
    ("request_call", handle::<RequestCall>),
    ("verify", |service, params| {
        typed::<Token>(&params, "token")?;
        check::<Verify>(service, params)
    }),
    ("delete_user", handle::<DeleteUser>),
    ("register_activity", handle::<RegisterActivity>),
    ("app_details", handle::<AppDetails>),
    ("user_status", handle::<UserStatus>),
    ("app_stats", handle::<AppStats>),
    ("start_phone_verification", handle::<StartPhoneVerification>),
    ("phone_info", handle::<PhoneInfo>),
    ("create_approval", handle::<CreateApproval>),
    ("check_approval", handle::<CheckApproval>),
    ("check_phone_verification", |service, params| {
        typed::<VerificationCode>(&params, "verification_code")?;
        handle::<CheckPhoneVerification>(service, params)
    }),
    ("phone_verification_status", handle::<PhoneVerificationStatus>),
    ("enrol_authenticator", handle::<EnrolAuthenticator>),
    ("find_user", handle::<FindUser>),
    ("set_login", handle::<SetLogin>),
    ("remove_login", handle::<RemoveLogin>),
    ("create_recovery_codes", handle::<CreateRecoveryCodes>),
    ("prepare_offline", |service, params| {
        typed::<Token>(&params, "token")?;
        handle::<PrepareOffline>(service, params)
    }),
    ("report_offline", handle::<ReportOffline>),
    ("confirm_authenticator", |service, params| {
        typed::<Token>(&params, "code")?;
        check::<ConfirmAuthenticator>(service, params)
    }),
    ("remove_authenticator", handle::<RemoveAuthenticator>),
    ("devices", handle::<Devices>),
    ("remove_device", handle::<RemoveDevice>),
    ("remember", handle::<Remember>),
    ("recognise", recognise::<Recognise>),
    ("forget", handle::<Forget>),
    ("unlock_user", handle::<UnlockUser>),
    ("invite_device", handle::<InviteDevice>),
    ("set_number", |service, params| {
        typed::<VerificationCode>(&params, "verification_code")?;
        handle::<SetNumber>(service, params)
    }),
];
