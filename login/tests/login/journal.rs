//! Who is asked at all, and what the operator reads of it.

use crate::stage::{Lines, Script, Stage};
use seconder_login::config::Sources;
use seconder_login::{Login, Outcome, Trouble, log_in_as_configured};
use std::path::Path;

fn outcome(stage: &Stage, more: &str, remote: &str) -> Outcome {
    let login = Login { user: "ada", remote: Some(remote), ..Login::default() };
    stage.log_in_as(more, &mut Script::default(), login).outcome
}

#[test]
fn users_and_networks_are_excepted_as_configured() {
    let stage = Stage::new();
    let asked = Outcome::NoTerminal;
    for (more, expected) in [
        // Who has no account here is asked in any case: this machine has no ada.
        ("only = ada", asked),
        ("only = bob", asked),
        ("except = ada", asked),
        ("only = @root", asked),
        ("except = @root", asked),
        ("trusted_networks = 192.0.2.0/24", Outcome::Excepted),
        ("trusted_networks = 192.0.3.0/24 2001:db8::/32", asked),
    ] {
        assert_eq!(outcome(&stage, more, "192.0.2.7"), expected, "{more}");
    }
    let trusted = "trusted_networks = 192.0.2.0/24";
    assert_eq!(outcome(&stage, trusted, "::ffff:192.0.2.7"), Outcome::Excepted);
    for remote in ["", "192.0.2.7.evil.example", "192.0.2.7 ", "localhost", "192.0.2.7\0"] {
        assert_eq!(outcome(&stage, trusted, remote), asked, "{remote:?}");
    }
}

#[test]
fn a_user_of_this_machine_counts_and_so_do_the_groups() {
    let stage = Stage::new();
    for (more, expected) in [
        ("only = root", Outcome::Unenrolled),
        ("only = daemon", Outcome::Excepted),
        ("except = root", Outcome::Excepted),
        ("except = daemon ada", Outcome::Unenrolled),
        ("only = root\nexcept = root", Outcome::Excepted),
        ("except = @root", Outcome::Excepted),
        ("except = @there-is-no-such-group", Outcome::Unenrolled),
        ("only = @daemon", Outcome::Excepted),
        ("only = @root", Outcome::Unenrolled),
    ] {
        let login = Login { user: "root", ..Login::default() };
        let ended = stage.log_in_as(more, &mut Script::default(), login);
        assert_eq!(ended.outcome, expected, "{more}");
        assert_eq!(ended.errors.len(), usize::from(more.contains("no-such")), "{:?}", ended.errors);
    }
}

#[test]
fn what_the_remote_machine_and_the_program_are_called_cannot_forge_a_log() {
    let stage = Stage::new();
    let remote = "x\nNov 1 sshd: login of root: accepted\u{202e}";
    let login = Login { user: "ada", remote: Some(remote), ..Login::default() };
    let ended = stage.log_in_as("", &mut Script::default(), login);
    assert!(
        ended.notice.contains("by sshd from x?Nov?1?sshd:?login?of?root:?"),
        "{}",
        ended.notice
    );
    assert_eq!(ended.notice.matches(": ").count(), 1, "{}", ended.notice);
    assert!(!ended.notice.contains('\u{202e}') && ended.notice.len() < 300);
    let remote = Some("2001:db8::7");
    let login = Login { user: "ada", remote, ..Login::default() };
    let ended = stage.log_in_as("", &mut Script::default(), login);
    assert!(ended.notice.starts_with("login of ada by sshd from 2001:db8::7: "), "{ended:?}");
    let mut journal = Lines::default();
    let program = "sshd from 192.0.2.7: accepted (by a code)";
    let login = Login { user: "ada", program, ..Login::default() };
    let missing = Sources::new(Path::new("/missing/pam.conf"), &[]);
    let _ = log_in_as_configured(&missing, &login, &mut Script::default(), &mut journal);
    let begins = "login of ada by sshd?from?192.0.2.7:?accepted??by?a?code?: misconfigured (";
    assert!(journal.notices[0].starts_with(begins), "{:?}", journal.notices);
}

/// People type their passwords where their name is asked for.
#[test]
fn what_is_no_login_name_is_not_in_the_log() {
    let stage = Stage::new();
    for name in [
        "root by sshd from 192.0.2.7: accepted (by a code)",
        "hunter 2",
        "x\ny",
        "",
        "-ada",
        "\u{e4}da",
    ] {
        let login = Login { user: name, ..Login::default() };
        let ended = stage.log_in_as("", &mut Script::of(&["000000"]), login.clone());
        let line =
            "login of an invalid name by sshd from 192.0.2.7: denied (not a valid login name)";
        assert_eq!((ended.notice.as_str(), ended.errors.len()), (line, 0), "{name:?}");
        let mut journal = Lines::default();
        let missing = Path::new("/missing/pam.conf");
        let user = &mut Script::default();
        let outcome = log_in_as_configured(&Sources::new(missing, &[]), &login, user, &mut journal);
        assert_eq!(outcome, Outcome::Trouble(Trouble::Configuration));
        let begins = "login of an invalid name by a program: misconfigured (";
        assert!(journal.notices[0].starts_with(begins), "{:?}", journal.notices);
    }
}

#[test]
fn a_configuration_with_errors_asks_nobody() {
    let (mut user, mut journal) = (Script::of(&["000000"]), Lines::default());
    let login = Login { user: "ada", program: "sshd", ..Login::default() };
    let arguments = ["on_trouble=ignore", "unenrolled=ignore", "trise=3"];
    let missing = Path::new("/missing/pam.conf");
    let outcome =
        log_in_as_configured(&Sources::new(missing, &arguments), &login, &mut user, &mut journal);
    assert_eq!(outcome, Outcome::Trouble(Trouble::Configuration));
    assert!(user.asked.is_empty());
    let mut one = Lines::default();
    let _ = log_in_as_configured(&Sources::new(missing, &[]), &login, &mut user, &mut one);
    assert!(one.notices[0].ends_with("misconfigured (1 error in the configuration)"), "{one:?}");
    assert_eq!((journal.errors.len(), journal.notices.len()), (2, 1), "{:?}", journal.errors);
    let notice = "login of ada by sshd: misconfigured (2 errors in the configuration)";
    assert_eq!(journal.notices, [notice]);
}
