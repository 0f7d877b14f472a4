//! Logins while the service cannot be reached, and what is done for them while it can.

use crate::decision::{errors, waiting};
use crate::site::{QUESTION, Site, rejected, unavailable};
use seconder::model::Secret;
use seconder::{Error, Stage};
use seconder_login::{Login, Outcome, Trouble};
use std::os::unix::fs::PermissionsExt;

const UNAVAILABLE: Outcome = Outcome::Trouble(Trouble::Unavailable);

#[test]
fn a_code_of_the_app_prepares_logins_and_is_reported_after_them() {
    let site = Site::new();
    let (ended, _) = site.log_in("", &[&site.code()]);
    assert_eq!((ended.outcome, ended.errors.len()), (Outcome::Accepted, 0), "{ended:?}");
    assert_eq!(site.calls(), ["user_status", "verify", "prepare_offline"]);
    // Not again within an hour.
    assert_eq!(site.log_in("", &[&site.code()]).0.outcome, Outcome::Accepted);
    assert_eq!(site.calls(), ["user_status", "verify"]);
    site.stop();
    let code = site.code();
    let (ended, user) = site.log_in("", &[&code]);
    assert_eq!((ended.outcome, user.asked.as_slice()), (Outcome::Accepted, &[QUESTION.into()][..]));
    assert_eq!(site.calls(), ["user_status"], "one call says that the service is unreachable");
    let why = "accepted (OFFLINE: by a code that this machine checked, because the service was not \
               reached; 4 offline logins left)";
    assert!(ended.notice.ends_with(why), "{}", ended.notice);
    assert!(ended.errors[0].starts_with("the user's record was not read: "), "{ended:?}");
    let (ended, user) = site.log_in("tries = 1", &[&code]);
    assert_eq!((ended.outcome, user.says.len()), (Outcome::Denied, 0));
    site.start();
    site.calls();
    // The service does not accept the code either.
    let (ended, user) = site.log_in("tries = 1", &[&code]);
    assert_eq!((ended.outcome, ended.errors.len()), (Outcome::Denied, 0), "{ended:?}");
    assert_eq!(user.shown, ["This code was used before. Wait for the next one."]);
    assert_eq!(site.calls(), ["user_status", "report_offline", "verify"]);
    site.advance(3600);
    assert_eq!(site.log_in("", &[&site.code()]).0.outcome, Outcome::Accepted);
    assert_eq!(site.calls(), ["user_status", "verify", "prepare_offline"], "it was acknowledged");
}

#[test]
fn a_code_that_the_service_was_not_reached_with_is_checked() {
    let site = Site::prepared();
    site.stop();
    let (ended, user) = site.log_in("method = code", &[&site.code()]);
    assert_eq!((ended.outcome, user.asked), (Outcome::Accepted, vec!["Code: ".to_owned()]));
    assert_eq!(site.calls(), ["verify"]);
    let (ended, user) = site.log_in("method = code", &["000000", "no code", &site.code()]);
    assert_eq!(ended.outcome, Outcome::Accepted);
    assert_eq!(user.asked, ["Code: ", QUESTION, QUESTION]);
    let shown = ["The code is wrong, or was used before.", "A code has 6 to 12 digits."];
    assert_eq!(user.shown, shown);
    // The report of the login before fails too, which is only logged.
    assert_eq!(site.calls(), ["report_offline", "verify"]);
    assert!(ended.errors[0].contains("the offline logins were not reported"), "{ended:?}");
}

#[test]
fn a_service_that_is_busy_leads_to_the_cache_and_one_that_locks_the_user_does_not() {
    for (code, outcome) in [(None, Outcome::Accepted), (Some("60003"), Outcome::Locked)] {
        let site = Site::prepared();
        site.fail(&[], &waiting(code, Some(120)));
        let (ended, user) = site.log_in("method = code", &["000000", &site.code()]);
        assert_eq!(ended.outcome, outcome, "{ended:?}");
        assert_eq!(user.asked.iter().any(|asked| asked == QUESTION), code.is_none());
        assert_eq!(user.shown.iter().any(|shown| shown.starts_with("Too many")), code.is_some());
    }
}

#[test]
fn clients_that_ask_once_log_in_too() {
    let site = Site::prepared();
    site.stop();
    for more in ["first_pass = use", "first_pass = try"] {
        let code = site.code();
        let (ended, user) = site.log_in_after(more, &code, &[]);
        assert_eq!((ended.outcome, user.asked.len()), (Outcome::Accepted, 0), "{more}");
    }
    let field = format!("secret{}", site.code());
    let (ended, user) = site.log_in_after("first_pass = with_code\ntries = 1", &field, &[]);
    assert_eq!((ended.outcome, user.passed_on.as_deref()), (Outcome::Accepted, Some("secret")));
    let (ended, user) = site.log_in_after("first_pass = use", "000000", &["000000"]);
    assert_eq!((ended.outcome, user.asked.len()), (Outcome::Denied, 0));
}

#[test]
fn only_a_service_that_is_unreachable_leads_to_the_cache() {
    let site = Site::prepared();
    for call in ["find_user", "user_status", "verify", "wait_for_approval"] {
        for (error, _) in errors() {
            // A socket that may not be used is a matter of the configuration.
            let is_unavailable = match &error {
                Error::Unavailable { stage, .. } => *stage != Stage::Access,
                // A code that is not checked by a service which replies otherwise may be that of a
                // user who is locked.
                Error::RateLimited { code: None, .. } => call != "verify",
                _ => false,
            };
            site.fail(&[call], &error);
            let code = site.code();
            let says: &[&str] = match call {
                "wait_for_approval" => &["1", &code, &code, &code],
                _ => &[&code, &code, &code],
            };
            let (ended, user) = site.log_in("users = directory\noffline_logins = 100", says);
            let what = format!("{call} {error:?}: {ended:?}");
            // After a request that failed, the user may still type a code, which the service checks.
            if call != "wait_for_approval" {
                assert_eq!(ended.outcome == Outcome::Accepted, is_unavailable, "{what}");
                assert_eq!(ended.notice.contains("OFFLINE"), is_unavailable, "{what}");
            }
            assert!(is_unavailable || !ended.notice.contains("OFFLINE"), "{what}");
            assert!(is_unavailable || !user.asked.iter().any(|asked| asked == QUESTION), "{what}");
            site.prepare_again();
        }
    }
}

/// A user can stop `su` until its time is over, and the service would have rejected the code.
#[test]
fn a_program_that_a_user_started_never_goes_offline() {
    let site = Site::prepared();
    let su = || Login { started_by_user: true, ..Login::default() };
    for (failing, more) in [
        ("find_user", "users = directory"),
        ("user_status", ""),
        ("verify", "method = code"),
        ("verify", "first_pass = with_code"),
    ] {
        site.fail(&[failing], &unavailable());
        let code = site.code();
        let typed_before = more.contains("first_pass").then(|| Secret::new(format!("x{code}")));
        let (ended, user) = site.log_in_as(more, &[&code, &code], Login { typed_before, ..su() });
        assert_eq!(ended.outcome, UNAVAILABLE, "{failing} {more}: {ended:?}");
        assert!(!user.asked.iter().any(|asked| asked == QUESTION), "{failing} {more}");
        let reported = ended.errors.iter().filter(|error| error.contains("a user started this"));
        assert_eq!(reported.count(), 1, "{ended:?}");
    }
    // With the service, it logs in as ever; and other programs log in offline.
    site.start();
    assert_eq!(site.log_in_as("", &[&site.code()], su()).0.outcome, Outcome::Accepted);
    site.stop();
    assert_eq!(site.log_in("", &[&site.code()]).0.outcome, Outcome::Accepted);
}

#[test]
fn what_was_not_asked_of_the_service_stays_as_it_was_without_a_cache() {
    let site = Site::prepared();
    site.stop();
    for method in ["push", "sms", "call"] {
        let (ended, user) = site.log_in(&format!("method = {method}"), &[&site.code()]);
        assert_eq!((ended.outcome, user.asked.len()), (UNAVAILABLE, 0), "{method}");
    }
    // Nothing was prepared for whom a code was sent to.
    let site = Site::new();
    let sent = site.stage.code();
    assert_eq!(site.log_in("", &[&sent]).0.outcome, Outcome::Accepted);
    assert_eq!(site.calls(), ["user_status", "verify"]);
    site.stop();
    for (more, outcome) in [("", UNAVAILABLE), ("on_trouble = ignore", Outcome::Ignored)] {
        let (ended, user) = site.log_in(more, &[&site.code()]);
        assert_eq!((ended.outcome, user.asked.len()), (outcome, 0));
        assert!(ended.errors[1].contains("ada cannot log in offline: no codes"), "{ended:?}");
    }
}

#[test]
fn the_cache_is_bounded_in_number_days_and_guesses() {
    let site = Site::prepared();
    site.stop();
    let more = "offline_logins = 1\non_trouble = ignore";
    assert_eq!(site.log_in(more, &[&site.code()]).0.outcome, Outcome::Accepted);
    let (ended, _) = site.log_in(more, &[&site.code()]);
    assert_eq!(ended.outcome, Outcome::Ignored);
    assert!(ended.errors[1].ends_with("as often as allowed"), "{ended:?}");
    let (ended, user) = site.log_in("tries = 9", &["000000"; 9]);
    assert_eq!(ended.outcome, Outcome::Locked);
    assert_eq!(user.shown.last().unwrap(), "Too many wrong codes. Try again in 2 s.");
    assert_eq!(site.log_in("", &[&site.code()]).0.outcome, Outcome::Accepted);
    site.advance(24 * 60 * 60);
    let (ended, _) = site.log_in("", &[&site.code()]);
    assert_eq!(ended.outcome, UNAVAILABLE);
    assert!(ended.errors[1].ends_with("too long ago"), "{ended:?}");
}

#[test]
fn a_login_that_was_accepted_does_not_depend_on_what_is_prepared() {
    for (error, _) in errors() {
        let site = Site::new();
        site.fail(&["prepare_offline", "report_offline"], &error);
        let (ended, _) = site.log_in("", &[&site.code()]);
        assert_eq!(ended.outcome, Outcome::Accepted, "{error:?}");
        assert_eq!(ended.errors.len(), 1, "{ended:?}");
        site.start();
        let (ended, _) = site.log_in("", &[&site.code()]);
        assert_eq!((ended.outcome, ended.errors.len()), (Outcome::Accepted, 0));
        assert_eq!(site.calls()[3..], ["user_status", "verify", "prepare_offline"]);
    }
}

#[test]
fn a_service_that_does_not_allow_it_any_more_ends_offline_logins() {
    let site = Site::prepared();
    site.advance(3600);
    site.fail(&["prepare_offline"], &rejected("offline_not_allowed"));
    assert_eq!(site.log_in("", &[&site.code()]).0.outcome, Outcome::Accepted);
    site.stop();
    assert_eq!(site.log_in("", &[&site.code()]).0.outcome, UNAVAILABLE);
    // Another rejection says nothing about the codes that are there.
    let site = Site::prepared();
    site.advance(3600);
    site.fail(&["prepare_offline"], &rejected("other"));
    assert_eq!(site.log_in("", &[&site.code()]).0.outcome, Outcome::Accepted);
    site.stop();
    assert_eq!(site.log_in("", &[&site.code()]).0.outcome, Outcome::Accepted);
}

#[test]
fn a_user_whom_the_service_rejects_is_forgotten() {
    for (call, code, outcome) in [
        ("user_status", "60026", Outcome::Unenrolled),
        ("verify", "60026", Outcome::Unenrolled),
        ("verify", "60014", Outcome::Denied),
    ] {
        let site = Site::prepared();
        site.fail(&[call], &rejected(code));
        assert_eq!(site.log_in("", &[&site.code()]).0.outcome, outcome);
        site.stop();
        assert_eq!(site.log_in("", &[&site.code()]).0.outcome, UNAVAILABLE, "{call}");
    }
}

#[test]
fn the_directory_is_remembered() {
    let (site, directory) = (Site::new(), "users = directory");
    assert_eq!(site.log_in(directory, &[&site.code()]).0.outcome, Outcome::Accepted);
    site.stop();
    site.calls();
    let (ended, user) = site.log_in(directory, &[&site.code()]);
    assert_eq!((ended.outcome, user.asked.as_slice()), (Outcome::Accepted, &[QUESTION.into()][..]));
    assert_eq!(site.calls(), ["find_user"]);
    // A name that the directory does not have any more is forgotten.
    site.start();
    site.is_in_directory.set(false);
    assert_eq!(site.log_in(directory, &[&site.code()]).0.outcome, Outcome::Unenrolled);
    site.stop();
    assert_eq!(site.log_in(directory, &[&site.code()]).0.outcome, UNAVAILABLE);
}

#[test]
fn a_code_that_cannot_be_marked_as_used_ends_offline_logins() {
    let site = Site::prepared();
    let name = |name: &str| name.starts_with("user-") && !name.contains('.');
    let files = std::fs::read_dir(site.cache()).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let file = files.into_iter().find(|file| name(file)).unwrap();
    // In the place of what is written first.
    let hindrance = site.cache().join(format!("{file}.new"));
    std::fs::create_dir(&hindrance).unwrap();
    let (ended, _) = site.log_in("", &[&site.code()]);
    assert_eq!((ended.outcome, ended.errors.len()), (Outcome::Accepted, 1), "{ended:?}");
    std::fs::remove_dir(&hindrance).unwrap();
    site.stop();
    let (ended, _) = site.log_in("", &[&site.code()]);
    assert_eq!(ended.outcome, UNAVAILABLE, "{ended:?}");
}

#[test]
fn a_folder_that_others_can_read_is_an_error_and_logins_go_on_online() {
    let site = Site::prepared();
    std::fs::set_permissions(site.cache(), PermissionsExt::from_mode(0o755)).unwrap();
    let (ended, _) = site.log_in("", &[&site.code()]);
    assert_eq!((ended.outcome, ended.errors.len()), (Outcome::Accepted, 1));
    assert!(ended.errors[0].contains("nobody can log in offline: "), "{ended:?}");
    site.fail(&["user_status"], &unavailable());
    let (ended, user) = site.log_in("", &[&site.code()]);
    assert_eq!((ended.outcome, user.asked.len()), (UNAVAILABLE, 0));
}
