//! What each reply and each error of the service leads to.

use crate::stage::{Script, Stage, ask};
use seconder::calls::*;
use seconder::model::UserId;
use seconder::{ApprovalWait, Error, Rejection, Result, Sleeper, Stage as Reached, Verify};
use seconder_login::{Backend, Login, Outcome, Trouble, outcome_of};
use std::time::Duration;

/// A service that replies to every call with the same.
struct Fixed {
    error: Option<Error>,
    verdict: Verdict,
    /// Which calls fail.
    fails: &'static [&'static str],
}

impl Fixed {
    fn reply<T>(&self, call: &str, reply: T) -> Result<T> {
        match &self.error {
            Some(error) if self.fails.contains(&call) => Err(error.clone()),
            _ => Ok(reply),
        }
    }
}

impl Backend for Fixed {
    fn find_user(&self, _: &str) -> Result<Option<UserId>> {
        self.reply("find_user", 1.try_into().ok())
    }
    fn user_status(&self, call: &UserStatus) -> Result<UserStatusReply> {
        let mut status = UserStatusReply::new(call.user_id);
        status.devices = vec!["ios".into(), "sms".into()];
        status.phone_number = Some("XXX-XXX-0123".into());
        self.reply("user_status", status)
    }
    fn verify(&self, _: &Verify) -> Result<Verification> {
        let mut found = Verification::default();
        found.verdict = self.verdict;
        self.reply("verify", found)
    }
    fn request_sms(&self, _: &RequestSms) -> Result<CodeRequested> {
        self.reply("request_sms", CodeRequested::default())
    }
    fn request_call(&self, _: &RequestCall) -> Result<CodeRequested> {
        self.reply("request_call", CodeRequested::default())
    }
    fn create_approval(&self, _: &CreateApproval) -> Result<ApprovalCreated> {
        self.reply("create_approval", ApprovalCreated::new("a-1".parse().unwrap()))
    }
    fn wait_for_approval(&self, _: ApprovalWait, _: &mut dyn Sleeper) -> Result<Approval> {
        self.reply("wait_for_approval", Approval::new(ApprovalStatus::Pending))
    }
    fn prepare_offline(&self, _: &PrepareOffline) -> Result<OfflinePrepared> {
        panic!("offline logins are not configured")
    }
    fn report_offline(&self, _: &ReportOffline) -> Result<Done> {
        panic!("offline logins are not configured")
    }
}

/// Every error, and how a login ends by it.
pub(crate) fn errors() -> Vec<(Error, Outcome)> {
    let message = || "\x1b[2Jsecret".to_owned();
    let rejected = |code: &str| {
        let (status, code) = (403, Some(code.to_owned()));
        let rejection = Rejection { status, code, message: message(), fields: [].into() };
        Error::Rejected(Box::new(rejection))
    };
    let unavailable = |stage| Error::Unavailable { stage, message: message(), reads: false };
    let (parameter, reason) = ("x".into(), "is y".into());
    let malformed = Error::TokenMalformed { parameter: "token".into(), reason: "is x".into() };
    let code = "60022".to_owned();
    let wrong = Error::TokenWrong { parameter: "token".into(), message: message(), code };
    let trouble = Outcome::Trouble;
    vec![
        (Error::InvalidArgument { parameter, reason }, trouble(Trouble::Internal)),
        (malformed, Outcome::Denied),
        (wrong, Outcome::Denied),
        (Error::Unauthorized { message: message(), code: None }, trouble(Trouble::Configuration)),
        (rejected("60026"), Outcome::Unenrolled),
        (rejected("60016"), Outcome::Denied),
        (rejected("60008"), Outcome::Denied),
        (rejected("99999"), Outcome::Denied),
        (waiting(Some("60003"), Some(2)), Outcome::Locked),
        (waiting(Some("60003"), Some(900)), Outcome::Locked),
        (waiting(Some("60003"), None), Outcome::Locked),
        (waiting(Some("too_many_wrong_keys"), Some(2)), trouble(Trouble::Configuration)),
        (waiting(None, Some(2)), trouble(Trouble::Unavailable)),
        (waiting(None, None), trouble(Trouble::Unavailable)),
        (unavailable(Reached::Dns), trouble(Trouble::Unavailable)),
        (unavailable(Reached::Connect), trouble(Trouble::Unavailable)),
        (unavailable(Reached::Access), trouble(Trouble::Configuration)),
        (unavailable(Reached::Tls), trouble(Trouble::Unavailable)),
        (unavailable(Reached::Response), trouble(Trouble::Unavailable)),
        (unavailable(Reached::Delivery), trouble(Trouble::Unavailable)),
        (Error::Cancelled { sent: true }, Outcome::Denied),
        (Error::InvalidResponse { message: message() }, trouble(Trouble::Service)),
        (Error::InvalidCallback { message: message() }, trouble(Trouble::Internal)),
        (Error::Storage { message: message() }, trouble(Trouble::Service)),
        (Error::Internal { message: message() }, trouble(Trouble::Internal)),
    ]
}

/// What asks to wait: the service because of the user, with a code, or anybody because of the load.
pub(crate) fn waiting(code: Option<&str>, seconds: Option<u64>) -> Error {
    let retry_after = seconds.map(Duration::from_secs);
    let code = code.map(Into::into);
    Error::RateLimited { message: "\x1b[2Jsecret".into(), retry_after, code, limit: None }
}

/// A variant that is added to the library's errors has to be added to [`errors`].
#[test]
fn every_error_has_an_outcome_and_none_lets_anyone_in() {
    let errors = errors();
    let debug: Vec<String> = errors.iter().map(|(error, _)| format!("{error:?}")).collect();
    let text = include_str!("../../../src/error.rs");
    let body = text.split_once("pub enum Error {").unwrap().1.split_once("\n}").unwrap().0;
    let variants: Vec<&str> = body
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
        .filter_map(|line| line.split([' ', '(', '{', ',']).next())
        .collect();
    assert!(variants.len() >= 11, "{variants:?}");
    for variant in variants {
        assert!(debug.iter().any(|debug| debug.starts_with(variant)), "{variant}");
    }
    for (error, outcome) in errors {
        assert_eq!(outcome_of(&error), outcome, "{error:?}");
        assert!(!matches!(outcome, Outcome::Accepted | Outcome::Excepted | Outcome::Ignored));
    }
}

#[test]
fn every_error_of_every_call_ends_closed_whatever_the_configuration() {
    let stage = Stage::new();
    let calls = ["find_user", "user_status", "verify", "create_approval", "wait_for_approval"];
    for call in calls {
        for (error, direct) in errors() {
            for trouble in ["deny", "ignore"] {
                let fails = std::slice::from_ref(calls.iter().find(|one| **one == call).unwrap());
                let (error, verdict) = (Some(error.clone()), Verdict::Wrong);
                let backend = Fixed { error, verdict, fails: Box::leak(fails.into()) };
                let more =
                    format!("users = directory\non_trouble = {trouble}\nunenrolled = {trouble}");
                let says: &[&str] =
                    if call.contains("approval") { &["1"; 9] } else { &["000000"; 9] };
                let login = Login { user: "ada", ..Login::default() };
                let ended = ask(&stage.config(&more), &backend, &mut Script::of(says), login);
                let ignorable = matches!(
                    direct,
                    Outcome::Unenrolled | Outcome::Trouble(Trouble::Unavailable | Trouble::Service)
                );
                let what = format!("{call} {direct:?} {trouble}: {ended:?}");
                assert_ne!(ended.outcome, Outcome::Accepted, "{what}");
                assert_ne!(ended.outcome, Outcome::Excepted, "{what}");
                if !(trouble == "ignore" && ignorable) {
                    assert_ne!(ended.outcome, Outcome::Ignored, "{what}");
                } else if call == "find_user" || call == "user_status" {
                    assert_eq!(ended.outcome, Outcome::Ignored, "{what}");
                    let loud = direct == Outcome::Unenrolled
                        || ended
                            .errors
                            .iter()
                            .any(|e| e.starts_with("on_trouble=ignore: ada is NOT"));
                    assert!(loud, "{what}");
                }
                if trouble == "deny" && !call.contains("approval") && call != "verify" {
                    assert_eq!(ended.outcome, direct, "{what}");
                }
            }
        }
    }
}

#[test]
fn only_the_verdict_right_is_accepted() {
    let stage = Stage::new();
    for (verdict, outcome) in [
        (Verdict::Right, Outcome::Accepted),
        (Verdict::Wrong, Outcome::Denied),
        (Verdict::NotChecked, Outcome::Denied),
    ] {
        let backend = Fixed { error: None, verdict, fails: &[] };
        let config = stage.config("users = directory\non_trouble = ignore\nunenrolled = ignore");
        let login = Login { user: "ada", ..Login::default() };
        let ended = ask(&config, &backend, &mut Script::of(&["000000"; 9]), login);
        assert_eq!(ended.outcome, outcome);
    }
}

#[test]
fn a_code_that_was_not_sent_does_not_end_a_login_with_an_app() {
    let stage = Stage::new();
    let unavailable =
        Error::Unavailable { stage: Reached::Delivery, message: "gateway".into(), reads: false };
    let fails = &["request_sms", "request_call", "create_approval"];
    let backend = Fixed { error: Some(unavailable), verdict: Verdict::Right, fails };
    let mut user = Script::of(&["sms", "push", "000000"]);
    let login = Login { user: "ada", ..Login::default() };
    let ended = ask(&stage.config("users = directory"), &backend, &mut user, login);
    assert_eq!((ended.outcome, ended.errors.len()), (Outcome::Accepted, 2));
    assert_eq!(user.shown, ["The code could not be sent.", "The request could not be sent."]);
}

/// A user can stop `su` until its time is over, and would then be let in without a second factor.
#[test]
fn trouble_that_a_user_can_make_is_not_ignored() {
    let stage = Stage::new();
    for (started_by_user, outcome) in
        [(false, Outcome::Ignored), (true, Outcome::Trouble(Trouble::Unavailable))]
    {
        for fails in [&["find_user"], &["user_status"], &["verify"]] {
            let error = Error::Unavailable {
                stage: Reached::Connect,
                message: "late".into(),
                reads: false,
            };
            let backend = Fixed { error: Some(error), verdict: Verdict::Wrong, fails };
            let login = Login { user: "ada", started_by_user, ..Login::default() };
            let config = stage.config("users = directory\non_trouble = ignore");
            let ended = ask(&config, &backend, &mut Script::of(&["000000"]), login);
            assert_eq!(ended.outcome, outcome, "{fails:?}");
            let reported =
                ended.errors.iter().any(|error| error.contains("does not apply: a user"));
            assert_eq!(reported, started_by_user, "{:?}", ended.errors);
        }
    }
}

/// A service in maintenance, and a socket with too many connections.
#[test]
fn a_busy_service_is_trouble_and_a_lock_is_none() {
    const UNAVAILABLE: Outcome = Outcome::Trouble(Trouble::Unavailable);
    const WRONG_KEYS: Outcome = Outcome::Trouble(Trouble::Configuration);
    let stage = Stage::new();
    let not_now = "The second factor cannot be checked now. Try again later.";
    let too_many = "Too many wrong codes. Try again in 120 s.";
    let busy =
        "The second factor cannot be checked now, because the service is busy. Try again in 120 s.";
    let unclear = "The code was not checked. Try again in 120 s.";
    let (all, one): (&[&str], &[&str]) = (&["verify", "user_status"], &["verify"]);
    let limits = [
        ("key_rate", unclear, Outcome::Denied),
        ("wrong_codes", too_many, Outcome::Locked),
        ("address_wrong_hour", too_many, Outcome::Locked),
    ];
    let of_limit = limits
        .map(|(limit, shown, outcome)| (Some("60003"), Some(limit), all, shown, outcome, outcome));
    let others = [
        (None, None, all, busy, UNAVAILABLE, Outcome::Ignored),
        // Whether the user is locked is not known.
        (None, None, one, unclear, Outcome::Locked, Outcome::Locked),
        (Some("60003"), None, one, too_many, Outcome::Locked, Outcome::Locked),
        (Some("60003"), None, all, too_many, Outcome::Locked, Outcome::Locked),
        // Wrong keys from the address of the machine must not switch the factor off.
        (Some("too_many_wrong_keys"), None, all, not_now, WRONG_KEYS, WRONG_KEYS),
    ];
    for (code, limit, fails, shown, deny, ignore) in others.into_iter().chain(of_limit) {
        for (on_trouble, outcome) in [("deny", deny), ("ignore", ignore)] {
            let fails = Box::leak(fails.into());
            let mut error = waiting(code, Some(120));
            if let Error::RateLimited { limit: of, .. } = &mut error {
                *of = limit.map(Into::into);
            }
            let error = Some(error);
            let backend = Fixed { error, verdict: Verdict::Wrong, fails };
            let login = Login { user: "ada", ..Login::default() };
            let more = format!("users = directory\nmethod = code\non_trouble = {on_trouble}");
            let mut user = Script::of(&["000000"]);
            let ended = ask(&stage.config(&more), &backend, &mut user, login);
            assert_eq!((ended.outcome, user.shown), (outcome, vec![shown.to_owned()]), "{ended:?}");
        }
    }
}

/// The first call meets it, before the user is asked.
#[test]
fn a_limit_of_the_application_is_shown_and_named_in_the_log() {
    let stage = Stage::new();
    let mut error = waiting(Some("60003"), Some(120));
    if let Error::RateLimited { limit, .. } = &mut error {
        *limit = Some("key_rate".into());
    }
    let backend = Fixed { error: Some(error), verdict: Verdict::Right, fails: &["user_status"] };
    let login = Login { user: "ada", ..Login::default() };
    let mut user = Script::of(&[]);
    let ended = ask(&stage.config("users = directory"), &backend, &mut user, login);
    assert_eq!(ended.outcome, Outcome::Denied);
    assert_eq!(user.shown, ["The second factor cannot be checked now. Try again later."]);
    assert!(ended.errors[0].contains("limit key_rate of the application"), "{ended:?}");
}

/// What the user chose may fail by what the user did: another way is left.
#[test]
fn no_trouble_of_a_way_that_the_user_chose_is_ignored() {
    let stage = Stage::new();
    let fails = &["request_sms", "request_call", "create_approval", "wait_for_approval"];
    for (error, direct) in errors() {
        let waits = matches!(error, Error::RateLimited { .. });
        let ends = matches!(direct, Outcome::Unenrolled | Outcome::Trouble(Trouble::Configuration))
            && !waits
            || matches!(error, Error::Cancelled { .. });
        for chosen in ["push", "sms", "call"] {
            let backend = Fixed { error: Some(error.clone()), verdict: Verdict::Right, fails };
            let mut user = Script::of(&[chosen, "000000"]);
            let login = Login { user: "ada", ..Login::default() };
            let config = stage.config("users = directory\non_trouble = ignore");
            let ended = ask(&config, &backend, &mut user, login);
            let expected = if ends { direct } else { Outcome::Accepted };
            assert_eq!(ended.outcome, expected, "{chosen} {error:?}");
        }
    }
}

#[test]
fn users_whom_the_service_does_not_know_are_denied_or_ignored() {
    let stage = Stage::new();
    for (more, ada, bob) in [
        ("", Outcome::Unenrolled, Outcome::Unenrolled),
        ("unenrolled = ignore", Outcome::Ignored, Outcome::Ignored),
        ("on_trouble = ignore", Outcome::Unenrolled, Outcome::Unenrolled),
    ] {
        for (name, outcome) in [("unmapped", ada), ("bob", bob)] {
            let login = Login { user: name, ..Login::default() };
            let ended = stage.log_in_as(more, &mut Script::of(&["000000"]), login);
            assert_eq!(ended.outcome, outcome, "{more} {name}");
        }
    }
}

#[test]
fn what_is_no_login_name_goes_nowhere() {
    let stage = Stage::new();
    for name in ["", "../ada", "ada\n", "a b", "-ada", ".", "ada\0", "ad\u{e4}", &"a".repeat(65)] {
        let more = "users = command:/usr/bin/false\nunenrolled = ignore\non_trouble = ignore";
        let login = Login { user: name, ..Login::default() };
        let mut user = Script::of(&["000000"]);
        let ended = stage.log_in_as(more, &mut user, login);
        assert_eq!((ended.outcome, ended.errors.len()), (Outcome::Denied, 0), "{name:?}");
        assert!(user.asked.is_empty());
    }
}
