//! The error codes of services (interface 7). Services send others too: a code is text, and one that
//! is not listed here is no error in itself.

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $name:ident = $code:literal, $meaning:literal;)*) => {
        $(
            #[doc = concat!("`", $code, "`: ", $meaning, ".")]
            $(#[doc = $doc])*
            pub const $name: &str = $code;
        )*

        /// Every code: its name, its text, and what it means.
        pub const ALL: &[(&str, &str, &str)] = &[$((stringify!($name), $code, $meaning)),*];
    };
}

codes! {
    UNSPECIFIC = "60000", "of no particular kind";
    INVALID_API_KEY = "60001", "invalid API key";
    INVALID_REQUEST = "60002", "invalid request";
    TOO_MANY_REQUESTS = "60003", "too many requests";
    INVALID_PARAMETER = "60004", "a parameter is missing or invalid";
    SMS_NOT_ENABLED = "60007", "SMS is not enabled";
    TOKEN_REUSED = "60019", "the code was used before";
    TOKEN_WRONG = "60020", "the code is wrong";
    VERIFICATION_CODE_WRONG = "60022", "the code of a phone verification is wrong";
    VERIFICATION_NOT_FOUND = "60023", "no phone verification is pending";
    PHONE_UNKNOWN = "60025", "no information about the number";
    USER_NOT_FOUND = "60026", "no such user";
    INVALID_USER = "60027", "a field of a user is not valid";
    INVALID_PHONE_NUMBER = "60033", "the phone number is not valid";
    APPROVAL_NOT_FOUND = "60049", "no such approval request";
    APPROVAL_NOT_PENDING = "60079", "the approval request was answered or has expired";
    LANDLINE = "60082", "the number is a landline's";
    OFFLINE_NOT_ALLOWED = "offline_not_allowed", "logins without the service are not allowed";
    NO_CODE_ACCEPTED = "no_code_accepted", "the code is not the one that was accepted just now";
    OFFLINE_NOT_PREPARED = "offline_not_prepared", "no machine was given the codes of these logins";
    NO_PENDING_AUTHENTICATOR = "no_pending_authenticator", "no authenticator app is pending";
    AUTHENTICATOR_NOT_FOUND = "authenticator_not_found", "no such authenticator app";
    DEVICE_NOT_FOUND = "device_not_found", "no such device";
    NO_PUBLIC_URL = "no_public_url", "the service has no public URL for devices";
    COUNTRY_NOT_ALLOWED = "country_not_allowed", "no messages are sent to the country of the number";
    NUMBER_REFUSED = "number_refused", "the provider refuses the phone number, as one that does not exist or cannot be reached";
    FACTOR_LOCKED = "factor_locked", "locked after too many wrong codes, or by an operator, until the user is unlocked";
    TOO_MANY_WRONG_KEYS = "too_many_wrong_keys", "too many wrong API keys from the address of the request";
    NOT_RECOGNISED = "not_recognised", "the browser is not remembered";
}
