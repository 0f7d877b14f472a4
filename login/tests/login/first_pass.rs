//! What was typed before, and password and code in one field.

use crate::stage::{Ended, Script, Stage};
use seconder::model::Secret;
use seconder_login::{Login, Outcome};

fn log_in(stage: &Stage, more: &str, before: &str, says: &[&str]) -> (Ended, Script) {
    let typed_before = Some(before).filter(|text| !text.is_empty()).map(Secret::new);
    let mut user = Script::of(says);
    let login = Login { user: "ada", typed_before, ..Login::default() };
    (stage.log_in_as(more, &mut user, login), user)
}

#[test]
fn what_was_typed_before_is_used_as_configured() {
    let stage = Stage::new();
    let cases: [(&str, bool, usize, Outcome); 9] = [
        ("no", true, 1, Outcome::Accepted),
        ("try", true, 0, Outcome::Accepted),
        ("use", true, 0, Outcome::Accepted),
        ("no", false, 1, Outcome::Accepted),
        ("try", false, 1, Outcome::Accepted),
        ("use", false, 0, Outcome::Denied),
        ("no", true, 1, Outcome::Accepted),
        ("try", true, 0, Outcome::Accepted),
        ("use", true, 0, Outcome::Accepted),
    ];
    for (first_pass, is_code, asked, outcome) in cases {
        let code = stage.code();
        let before = if is_code { code.as_str() } else { "correct horse" };
        let (ended, user) = log_in(&stage, &format!("first_pass = {first_pass}"), before, &[&code]);
        assert_eq!((ended.outcome, user.asked.len()), (outcome, asked), "{first_pass} {is_code}");
    }
    let (ended, _) = log_in(&stage, "first_pass = use", "", &["x"]);
    assert_eq!(ended.outcome, Outcome::Denied);
}

#[test]
fn a_wrong_code_typed_before_is_a_failed_try() {
    let stage = Stage::new();
    let code = stage.code();
    let (ended, user) = log_in(&stage, "first_pass = try\ntries = 1", "0000000", &[&code]);
    assert_eq!((ended.outcome, user.asked.len()), (Outcome::Denied, 0));
    let (ended, user) = log_in(&stage, "first_pass = use\ntries = 9", "0000000", &[&code]);
    assert_eq!((ended.outcome, user.asked.len()), (Outcome::Denied, 0));
    let (ended, _) = log_in(&stage, "first_pass = try", "0000000", &[&code]);
    assert_eq!(ended.outcome, Outcome::Accepted);
}

#[test]
fn password_and_code_in_one_field_are_divided() {
    let stage = Stage::new();
    let more = "first_pass = with_code\ncode_length = 7";
    let field = format!("pässword1{}", stage.code());
    let (ended, user) = log_in(&stage, more, &field, &[]);
    assert_eq!(ended.outcome, Outcome::Accepted);
    assert_eq!(user.passed_on.as_deref(), Some("pässword1"));
    // Without an earlier module, the field is asked for.
    let field = format!("secret{}", stage.code());
    let (ended, user) = log_in(&stage, more, "", &[&field]);
    assert_eq!((ended.outcome, user.asked[0].as_str()), (Outcome::Accepted, "Password and code: "));
    assert_eq!(user.passed_on.as_deref(), Some("secret"));
    // Without a code in it, it is the password, and the code is asked for.
    let code = stage.code();
    let (ended, user) = log_in(&stage, more, "pässword", &[&code]);
    assert_eq!(ended.outcome, Outcome::Accepted);
    assert_eq!(user.passed_on.as_deref(), Some("pässword"));
    // A code alone has an empty password, and a password is not handed on by a login that is denied.
    let (ended, user) = log_in(&stage, more, &stage.code(), &[]);
    assert_eq!((ended.outcome, user.passed_on.as_deref()), (Outcome::Accepted, Some("")));
    let (ended, user) = log_in(&stage, more, "password0000000", &[]);
    assert_eq!((ended.outcome, user.passed_on), (Outcome::Denied, None));
}

#[test]
fn a_client_that_asks_once_is_not_asked_for_ever() {
    let stage = Stage::new();
    let more = "first_pass = with_code\ntries = 9";
    let (ended, user) = log_in(&stage, more, "", &["hunter22"; 9]);
    assert_eq!((ended.outcome, user.asked.len()), (Outcome::Denied, 2));
    assert!(ended.notice.contains("keyboard-interactive"), "{}", ended.notice);
}
