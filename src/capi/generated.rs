//! Written by tools/generate from src/calls.rs: the C layer of the calls.

pub mod app_details;
pub mod app_stats;
pub mod check_approval;
pub mod check_phone_verification;
pub mod confirm_authenticator;
pub mod create_approval;
pub mod create_recovery_codes;
pub mod create_user;
pub mod delete_user;
pub mod devices;
pub mod done;
pub mod enrol_authenticator;
pub mod factors;
pub mod find_user;
pub mod forget;
pub mod invite_device;
pub mod open_options;
pub mod phone_info;
pub mod phone_verification_status;
pub mod prepare_offline;
pub mod recognise;
pub mod register_activity;
pub mod remember;
pub mod remove_authenticator;
pub mod remove_device;
pub mod remove_login;
pub mod report_offline;
pub mod request_code;
pub mod set_login;
pub mod start_phone_verification;
pub mod unlock_user;
pub mod user_status;
pub mod verify;

/// The handles that many threads may read at once.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<app_details::seconder_application>();
    shared::<check_approval::seconder_approval>();
    shared::<create_approval::seconder_approval_created>();
    shared::<enrol_authenticator::seconder_authenticator_enrolled>();
    shared::<recognise::seconder_browser_check>();
    shared::<request_code::seconder_code_requested>();
    shared::<invite_device::seconder_device_invited>();
    shared::<done::seconder_done>();
    shared::<factors::seconder_factors>();
    shared::<find_user::seconder_found_user>();
    shared::<prepare_offline::seconder_offline_prepared>();
    shared::<phone_info::seconder_phone_information>();
    shared::<phone_verification_status::seconder_phone_verification_record>();
    shared::<start_phone_verification::seconder_phone_verification_started>();
    shared::<create_recovery_codes::seconder_recovery_codes>();
    shared::<devices::seconder_registered_devices>();
    shared::<remember::seconder_remembered>();
    shared::<app_stats::seconder_statistics>();
    shared::<create_user::seconder_user_created>();
    shared::<user_status::seconder_user_status_reply>();
    shared::<verify::seconder_verification>();
};
