//! The kinds of texts.

use super::languages::Language;

/// The purpose of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Kind {
    Sms,
    /// With the message of an action.
    SmsAction,
    Call,
    CallAction,
    Install,
}

impl Kind {
    pub(super) const ALL: [Kind; 5] =
        [Kind::Sms, Kind::SmsAction, Kind::Call, Kind::CallAction, Kind::Install];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Kind::Sms => "sms",
            Kind::SmsAction => "sms_action",
            Kind::Call => "call",
            Kind::CallAction => "call_action",
            Kind::Install => "install",
        }
    }

    pub(super) const fn is_spoken(self) -> bool {
        matches!(self, Kind::Call | Kind::CallAction)
    }

    /// Returns the text that is built in.
    pub(super) const fn of(self, language: &'static Language) -> &'static str {
        match self {
            Kind::Sms | Kind::SmsAction => language.sms,
            Kind::Call | Kind::CallAction => language.call,
            Kind::Install => language.install,
        }
    }
}
