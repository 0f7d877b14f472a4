//! The meaning of SMPP statuses for a message.

/// The action for a message that was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The SMSC accepts no more for now.
    Throttled,
    /// Another attempt may succeed.
    Temporary,
    /// No attempt will succeed.
    Permanent,
    /// The number does not exist, or cannot be reached.
    NumberRefused,
}

use Meaning::{NumberRefused, Permanent, Temporary, Throttled};

/// The session is not in the state for this command.
pub(super) const WRONG_STATE: u32 = 0x04;
/// The command is not known.
pub(super) const UNKNOWN_COMMAND: u32 = 0x03;
/// The status that asks for another delivery later.
pub(super) const DELIVER_LATER: u32 = 0x64;
/// The status that asks for no further delivery.
pub(super) const DELIVER_NEVER: u32 = 0x65;

#[rustfmt::skip]
const KNOWN: &[(u32, &str, Meaning)] = &[
    (0x01, "ESME_RINVMSGLEN", Permanent),
    (0x02, "ESME_RINVCMDLEN", Permanent),
    (UNKNOWN_COMMAND, "ESME_RINVCMDID", Permanent),
    (WRONG_STATE, "ESME_RINVBNDSTS", Temporary),
    (0x05, "ESME_RALYBND", Temporary),
    (0x06, "ESME_RINVPRTFLG", Permanent),
    (0x07, "ESME_RINVREGDLVFLG", Permanent),
    (0x08, "ESME_RSYSERR", Temporary),
    (0x0a, "ESME_RINVSRCADR", Permanent),
    (0x0b, "ESME_RINVDSTADR", NumberRefused),
    (0x0d, "ESME_RBINDFAIL", Temporary),
    (0x0e, "ESME_RINVPASWD", Temporary),
    (0x0f, "ESME_RINVSYSID", Temporary),
    (0x14, "ESME_RMSGQFUL", Throttled),
    (0x15, "ESME_RINVSERTYP", Permanent),
    (0x43, "ESME_RINVESMCLASS", Permanent),
    (0x45, "ESME_RSUBMITFAIL", Temporary),
    (0x48, "ESME_RINVSRCTON", Permanent),
    (0x49, "ESME_RINVSRCNPI", Permanent),
    (0x50, "ESME_RINVDSTTON", Permanent),
    (0x51, "ESME_RINVDSTNPI", Permanent),
    (0x53, "ESME_RINVSYSTYP", Permanent),
    (0x58, "ESME_RTHROTTLED", Throttled),
    (0x61, "ESME_RINVSCHED", Permanent),
    (0x62, "ESME_RINVEXPIRY", Permanent),
    (DELIVER_LATER, "ESME_RX_T_APPN", Temporary),
    (DELIVER_NEVER, "ESME_RX_P_APPN", Permanent),
    (0x66, "ESME_RX_R_APPN", Permanent),
    (0xc0, "ESME_RINVOPTPARSTREAM", Permanent),
    (0xc1, "ESME_ROPTPARNOTALLWD", Permanent),
    (0xc2, "ESME_RINVPARLEN", Permanent),
    (0xc3, "ESME_RMISSINGOPTPARAM", Permanent),
    (0xc4, "ESME_RINVOPTPARAMVAL", Permanent),
    (0xfe, "ESME_RDELIVERYFAILURE", Temporary),
    (0xff, "ESME_RUNKNOWNERR", Temporary),
];

/// Returns the meaning of a status. One that is not in the list belongs to the SMSC's vendor, and
/// may be temporary: the message's deadline bounds the attempts.
pub(super) fn meaning(status: u32) -> Meaning {
    KNOWN.iter().find(|known| known.0 == status).map_or(Temporary, |known| known.2)
}

/// Returns the name of a status: `ESME_RINVDSTADR (0xb)`.
pub(super) fn name(status: u32) -> String {
    match KNOWN.iter().find(|known| known.0 == status) {
        Some((_, name, _)) => format!("{name} ({status:#x})"),
        None => format!("status {status:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_say_whether_to_try_again() {
        for (status, expected) in [
            (0x58, Throttled),
            (0x14, Throttled),
            (0x08, Temporary),
            (0x0b, NumberRefused),
            (0x0a, Permanent),
            (0x4ff, Temporary),
        ] {
            assert_eq!(meaning(status), expected, "{status:#x}");
        }
        assert_eq!(name(0x0b), "ESME_RINVDSTADR (0xb)");
        assert_eq!(name(0x4ff), "status 0x4ff");
    }
}
