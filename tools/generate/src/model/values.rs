//! The types of `src/model` that fields have.

/// A type whose text or number has a form that its parser checks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Action,
    ApprovalId,
    AuthenticatorId,
    BrowserToken,
    CountryCode,
    DeviceId,
    DisplayText,
    Email,
    LoginName,
    PhoneNumber,
    Secret,
    Token,
    UserId,
    VerificationCode,
}

impl Value {
    pub(super) fn named(name: &str) -> Option<Value> {
        Some(match name {
            "Action" => Value::Action,
            "ApprovalId" => Value::ApprovalId,
            "AuthenticatorId" => Value::AuthenticatorId,
            "BrowserToken" => Value::BrowserToken,
            "CountryCode" => Value::CountryCode,
            "DeviceId" => Value::DeviceId,
            "DisplayText" => Value::DisplayText,
            "Email" => Value::Email,
            "LoginName" => Value::LoginName,
            "PhoneNumber" => Value::PhoneNumber,
            "Secret" => Value::Secret,
            "Token" => Value::Token,
            "UserId" => Value::UserId,
            "VerificationCode" => Value::VerificationCode,
            _ => return None,
        })
    }

    /// The name of the type in `src/model`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Value::Action => "Action",
            Value::ApprovalId => "ApprovalId",
            Value::AuthenticatorId => "AuthenticatorId",
            Value::BrowserToken => "BrowserToken",
            Value::CountryCode => "CountryCode",
            Value::DeviceId => "DeviceId",
            Value::DisplayText => "DisplayText",
            Value::Email => "Email",
            Value::LoginName => "LoginName",
            Value::PhoneNumber => "PhoneNumber",
            Value::Secret => "Secret",
            Value::Token => "Token",
            Value::UserId => "UserId",
            Value::VerificationCode => "VerificationCode",
        }
    }

    /// Returns whether it is a number in every language.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Value::DeviceId | Value::UserId)
    }

    /// Returns whether the person who logs in types it, so that a wrong form is no mistake of the caller.
    pub(crate) fn is_typed(self) -> bool {
        matches!(self, Value::BrowserToken | Value::Token | Value::VerificationCode)
    }

    pub(crate) fn is_secret(self) -> bool {
        self.is_typed() || self == Value::Secret
    }

    /// The accessor that returns its text.
    pub(crate) fn accessor(self) -> &'static str {
        match self {
            Value::Secret => "expose",
            _ => "as_str",
        }
    }

    /// The form that its parser requires, unless every text is accepted.
    pub(crate) fn form(self) -> Option<&'static str> {
        Some(match self {
            Value::Action => "1 to 128 bytes without control characters",
            Value::ApprovalId | Value::AuthenticatorId => {
                "1 to 64 letters, digits and dashes of ASCII"
            }
            Value::CountryCode => "\"1\" to \"999\"",
            Value::DisplayText => "1 to 1024 bytes",
            Value::Email => "name@example.com, at most 254 bytes",
            Value::LoginName => {
                "1 to 64 letters, digits and the characters _ . @ + - of ASCII, beginning with a \
                 letter, a digit or _; a $ may be at the end"
            }
            Value::PhoneNumber => {
                "4 to 15 digits in groups that dashes, periods or spaces may separate"
            }
            Value::Token => "6 to 12 digits and nothing else",
            Value::VerificationCode => "4 to 10 digits and nothing else",
            Value::BrowserToken | Value::DeviceId | Value::Secret | Value::UserId => return None,
        })
    }
}
