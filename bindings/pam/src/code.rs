//! The PAM code for each outcome: the table in man/pam_seconder.8.

use libpam_sys::{
    PAM_AUTH_ERR, PAM_AUTHINFO_UNAVAIL, PAM_CONV_ERR, PAM_IGNORE, PAM_MAXTRIES, PAM_SERVICE_ERR,
    PAM_SUCCESS, PAM_SYSTEM_ERR, PAM_USER_UNKNOWN,
};
use seconder_login::{Outcome, Trouble};
use std::ffi::c_int;

/// The only place where PAM_SUCCESS comes from. Only a right code or an approval yields it: in a stack in which the
/// module is `sufficient`, PAM_SUCCESS skips the rest of the stack, so exempt users get PAM_IGNORE, with which the rest
/// of the stack decides.
pub(crate) fn pam_code(outcome: &Outcome) -> c_int {
    match outcome {
        Outcome::Accepted => PAM_SUCCESS,
        Outcome::Excepted | Outcome::Ignored => PAM_IGNORE,
        Outcome::Denied => PAM_AUTH_ERR,
        Outcome::Locked => PAM_MAXTRIES,
        Outcome::Unenrolled => PAM_USER_UNKNOWN,
        Outcome::NoTerminal => PAM_CONV_ERR,
        // Stacks may let a user in on PAM_AUTHINFO_UNAVAIL, so a problem that an operator has to fix has another code.
        Outcome::Trouble(Trouble::Unavailable) => PAM_AUTHINFO_UNAVAIL,
        Outcome::Trouble(Trouble::Configuration | Trouble::Service) => PAM_SERVICE_ERR,
        Outcome::Trouble(Trouble::Internal) => PAM_SYSTEM_ERR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row of every outcome, by the words of the manual. A new outcome does not compile without a row.
    fn row(outcome: &Outcome) -> &'static str {
        match outcome {
            Outcome::Accepted => "the code is right, or the user approved the login",
            Outcome::Excepted | Outcome::Ignored => {
                "the configuration excepts the user or the network, or says"
            }
            Outcome::Denied => "wrong codes, no approval, or a limit of the application",
            Outcome::Locked => "the user has too many wrong attempts, and has to wait",
            Outcome::Unenrolled => "the map of users, or the service, does not know the user",
            Outcome::NoTerminal => "nobody can respond: there is no terminal",
            Outcome::Trouble(Trouble::Unavailable) => {
                "the service was not reached, or not in time, or is busy"
            }
            Outcome::Trouble(Trouble::Configuration | Trouble::Service) => {
                "the configuration is wrong, or the service rejected this machine"
            }
            Outcome::Trouble(Trouble::Internal) => "a bug of the module",
        }
    }

    #[test]
    fn the_codes_are_those_of_the_manual() {
        let outcomes = [
            (Outcome::Accepted, PAM_SUCCESS, "PAM_SUCCESS"),
            (Outcome::Excepted, PAM_IGNORE, "PAM_IGNORE"),
            (Outcome::Ignored, PAM_IGNORE, "PAM_IGNORE"),
            (Outcome::Denied, PAM_AUTH_ERR, "PAM_AUTH_ERR"),
            (Outcome::Locked, PAM_MAXTRIES, "PAM_MAXTRIES"),
            (Outcome::Unenrolled, PAM_USER_UNKNOWN, "PAM_USER_UNKNOWN"),
            (Outcome::NoTerminal, PAM_CONV_ERR, "PAM_CONV_ERR"),
            (Outcome::Trouble(Trouble::Unavailable), PAM_AUTHINFO_UNAVAIL, "PAM_AUTHINFO_UNAVAIL"),
            (Outcome::Trouble(Trouble::Configuration), PAM_SERVICE_ERR, "PAM_SERVICE_ERR"),
            (Outcome::Trouble(Trouble::Service), PAM_SERVICE_ERR, "PAM_SERVICE_ERR"),
            (Outcome::Trouble(Trouble::Internal), PAM_SYSTEM_ERR, "PAM_SYSTEM_ERR"),
        ];
        let page = include_str!("../../../man/pam_seconder.8");
        let rows = page.lines().filter(|line| line.starts_with(".It Dv PAM_")).count();
        let mut names: Vec<&str> = outcomes.iter().map(|(_, _, name)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(rows, names.len(), "the manual has a row for each code");
        for (outcome, code, name) in outcomes {
            assert_eq!(pam_code(&outcome), code, "{outcome:?}");
            assert_eq!(code == PAM_SUCCESS, outcome == Outcome::Accepted, "{outcome:?}");
            let wanted = format!(".It Dv {name} Ta {}\n", row(&outcome));
            assert!(page.contains(&wanted), "man/pam_seconder.8 lacks: {wanted}");
        }
    }
}
