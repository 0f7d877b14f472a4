//! Codes, choices and tries.

use crate::stage::{Script, Stage};
use seconder_login::{Login, Outcome};

#[test]
fn a_right_code_is_accepted_and_used_up() {
    let stage = Stage::new();
    let code = stage.code();
    let mut user = Script::of(&[&code]);
    let ended = stage.log_in("", &mut user);
    assert_eq!(ended.outcome, Outcome::Accepted);
    assert_eq!(ended.notice, "login of ada by sshd from 192.0.2.7: accepted (by a code)");
    assert_eq!(user.asked, ["Code, or 1 for an SMS, 2 for a call: "]);
    let mut user = Script::of(&[&code]);
    let ended = stage.log_in("tries = 1", &mut user);
    assert_eq!(ended.outcome, Outcome::Denied);
    assert_eq!(user.shown, ["This code was used before. Wait for the next one."]);
}

#[test]
fn a_code_may_be_typed_with_spaces_and_dashes() {
    let stage = Stage::new();
    let code = stage.code();
    let ended = stage.log_in("", &mut Script::of(&[&format!(" {}-{} ", &code[..3], &code[3..])]));
    assert_eq!(ended.outcome, Outcome::Accepted);
}

#[test]
fn a_wrong_code_may_be_tried_again_as_often_as_configured() {
    let stage = Stage::new();
    let code = stage.code();
    let ended = stage.log_in("", &mut Script::of(&["0000000", "no code", &code]));
    assert_eq!(ended.outcome, Outcome::Accepted);
    let code = stage.code();
    let mut user = Script::of(&["0000000", "no code", "0000001", &code]);
    let ended = stage.log_in("", &mut user);
    assert_eq!((ended.outcome, user.says.len()), (Outcome::Denied, 1));
    assert!(ended.notice.ends_with("denied (3 failed tries)"), "{}", ended.notice);
    let shown = ["The code is wrong.", "A code has 6 to 12 digits.", "The code is wrong."];
    assert_eq!(user.shown, shown);
}

#[test]
fn too_many_wrong_codes_lock_and_the_user_reads_for_how_long() {
    let stage = Stage::new();
    let wrong = ["000000"; 5];
    stage.service.enrol_authenticator(stage.user).unwrap();
    let mut user = Script::of(&wrong);
    let ended = stage.log_in("tries = 5", &mut user);
    assert_eq!(ended.outcome, Outcome::Locked);
    assert_eq!(user.shown.last().unwrap(), "Too many wrong codes. Try again in 2 s.");
    for _ in 0..8 {
        stage.clock.advance(100);
        let _ = stage.log_in("tries = 1", &mut Script::of(&["000000"]));
    }
    // Who has to wait 15 minutes is not asked again.
    let mut user = Script::of(&wrong);
    let ended = stage.log_in("tries = 5", &mut user);
    assert_eq!((ended.outcome, user.asked.len()), (Outcome::Locked, 1), "{:?}", user.shown);
}

#[test]
fn a_code_is_sent_only_when_it_is_asked_for_or_configured() {
    for (word, count) in [("1", 1), ("SMS", 1), ("2", 1), ("call", 1)] {
        let stage = Stage::new();
        let mut user = Script::of(&[word]).then_sent(&stage);
        assert_eq!(stage.log_in("", &mut user).outcome, Outcome::Accepted, "{word}");
        assert_eq!(stage.sent.lock().unwrap().len(), count);
        assert!(user.shown[0].ends_with(" +1-XXX-XXX-XX23."), "{:?}", user.shown);
    }
    for (method, count) in [("ask", 0), ("code", 0), ("sms", 1), ("call", 1), ("push", 0)] {
        let stage = Stage::new();
        let _ = stage.log_in(&format!("method = {method}"), &mut Script::default());
        assert_eq!(stage.sent.lock().unwrap().len(), count, "{method}");
    }
}

#[test]
fn the_configuration_limits_what_is_offered() {
    let prompts = [
        ("offer = sms", "Code, or 1 for an SMS: "),
        ("offer = call", "Code, or 1 for a call: "),
        ("offer = none", "Code: "),
        ("offer = push", "Code: "),
        ("method = code", "Code: "),
    ];
    for (more, prompt) in prompts {
        let stage = Stage::new();
        let mut user = Script::of(&["sms"]);
        let ended = stage.log_in(&format!("{more}\ntries = 1"), &mut user);
        assert_eq!(user.asked[0], prompt);
        let sent = usize::from(more == "offer = sms");
        assert_eq!(stage.sent.lock().unwrap().len(), sent, "{more}");
        assert_ne!(ended.outcome, Outcome::Accepted);
    }
    let stage = Stage::new();
    stage.phone();
    let mut user = Script::default();
    let _ = stage.log_in("", &mut user);
    let all = "Code, or 1 for a request on your phone, 2 for an SMS, 3 for a call: ";
    assert_eq!(user.asked, [all]);
}

#[test]
fn choices_without_end_end_the_login() {
    let stage = Stage::new();
    let mut user = Script::of(&["sms"; 50]);
    let ended = stage.log_in("", &mut user);
    assert_eq!((ended.outcome, user.asked.len()), (Outcome::Denied, 9));
    assert!(user.shown[1].starts_with("The code could not be sent. Try again in "));
}

#[test]
fn a_login_with_nobody_to_ask_ends_at_once() {
    let stage = Stage::new();
    let ended = stage.log_in("", &mut Script::default());
    assert_eq!(ended.outcome, Outcome::NoTerminal);
    assert!(ended.notice.ends_with("no terminal (there is nobody to ask)"), "{}", ended.notice);
    // Whoever tried and failed was denied.
    let ended = stage.log_in("", &mut Script::of(&["0000000"]));
    assert_eq!(ended.outcome, Outcome::Denied);
}

#[test]
fn a_client_that_repeats_one_text_is_noticed() {
    let stage = Stage::new();
    let mut user = Script::of(&["hunter2-hunter2"; 9]);
    let ended = stage.log_in("tries = 9", &mut user);
    assert_eq!((ended.outcome, user.asked.len()), (Outcome::Denied, 2));
    assert!(ended.notice.contains("keyboard-interactive"), "{}", ended.notice);
    // Other programs have no such method.
    let mut user = Script::of(&["hunter2-hunter2"; 9]);
    let login = Login { user: "ada", program: "radiusd", ..Login::default() };
    let ended = stage.log_in_as("tries = 9", &mut user, login);
    assert!(ended.notice.contains("first_pass=with_code"), "{}", ended.notice);
    assert!(!ended.notice.contains("OpenSSH"), "{}", ended.notice);
    let mut user = Script::of(&["hunter2-hunter2"; 9]);
    let login = Login {
        user: "ada",
        typed_before: Some(seconder::model::Secret::new("hunter2-hunter2")),
        ..Login::default()
    };
    let ended = stage.log_in_as("tries = 9", &mut user, login);
    assert_eq!((ended.outcome, user.asked.len()), (Outcome::Denied, 1));
    // A user who presses Enter may do so again.
    let mut user = Script::of(&["", "", &stage.code()]);
    assert_eq!(stage.log_in("", &mut user).outcome, Outcome::Accepted);
}

/// Somebody who presses Enter at every question is not a client that repeats the password.
#[test]
fn an_empty_answer_after_an_empty_password_ends_the_login_as_unanswered() {
    let stage = Stage::new();
    let login = || Login {
        user: "ada",
        typed_before: Some(seconder::model::Secret::new("")),
        ..Login::default()
    };
    let mut user = Script::of(&["", "000000"]);
    let ended = stage.log_in_as("", &mut user, login());
    assert_eq!((ended.outcome, user.asked.len()), (Outcome::NoTerminal, 1));
    assert!(ended.notice.contains("nobody answered"), "{}", ended.notice);
    // Whoever failed before was denied.
    let ended = stage.log_in_as("", &mut Script::of(&["no code", ""]), login());
    assert_eq!(ended.outcome, Outcome::Denied);
}
