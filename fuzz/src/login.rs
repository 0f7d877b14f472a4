//! The fuzz targets of logins, in a file of their own because the library's tests do not depend on
//! the crate of logins. `login/tests/fuzz_corpus.rs` runs each on the stored corpus.

#![allow(clippy::unwrap_used, reason = "a target reports failures by panicking")]

use seconder::calls::*;
use seconder::model::{Secret, UserId};
use seconder::wire::{Reply, json};
use seconder::{ApprovalWait, Call, Error, Result, Sleeper, Verdict, Verify};
use seconder_login::config::Config;
use seconder_login::{
    Backend, Conversation, Journal, Login, Outcome, Silent, Style, Typed, log_in_with, read_users,
};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::Duration;

/// The name of a target's corpus, and the target.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 4] =
    [("pam_conf", pam_conf), ("pam_users", pam_users), ("login", login), ("offline", offline)];

/// A configuration that is accepted shows what is in effect, and a problem has its place.
pub fn pam_conf(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // These would look at files and users of this machine.
    if ["file", "command", "service_user"].iter().any(|word| text.contains(word)) {
        return;
    }
    match Config::parse(text, Path::new("/pam.conf"), &[]) {
        Ok(config) => assert!(config.effective().all(|(_, value, _)| plain(value))),
        Err(problems) => {
            assert!(!problems.is_empty());
            for problem in problems {
                assert!(plain(&problem.to_string()) && problem.line <= text.lines().count());
            }
        }
    }
}

/// A cache of offline logins that can be read is written as it was.
pub fn offline(data: &[u8]) {
    if let Some(written) = seconder_login::offline::reread(data) {
        assert_eq!(written, data);
    }
}

/// Each user of a map that is accepted is in a line of its own.
pub fn pam_users(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match read_users(text, Path::new("/users")) {
        Ok(map) => {
            for (login, id) in map {
                let of = |line: &str| {
                    let (left, right) = line.split_once('=')?;
                    (left.trim() == login).then(|| right.trim().to_owned())
                };
                let ids: Vec<String> = text.lines().filter_map(of).collect();
                assert_eq!(ids, [id.to_string()], "{login}");
                assert!(login.bytes().all(|b| b.is_ascii_graphic() && b != b'/'), "{login}");
            }
        }
        Err(problems) => assert!(problems.iter().all(|problem| plain(&problem.to_string()))),
    }
}

/// Whatever the service replies and the user types, a user is let in only by a reply that says so, and
/// nothing reaches a log or a terminal that could change it. The first line of the input is what the
/// configuration says, the next ones are replies and answers in turn.
pub fn login(data: &[u8]) {
    let _ = outcome(data);
}

/// How the login of an input ends, if it is one.
pub fn outcome(data: &[u8]) -> Option<Outcome> {
    let Ok(text) = std::str::from_utf8(data) else { return None };
    let mut lines = text.lines();
    let more: Vec<&str> = lines.next().unwrap_or_default().split(' ').take(4).collect();
    let safe = [
        "method=",
        "tries=",
        "first_pass=",
        "code_length=",
        "offer=",
        "on_trouble=",
        "unenrolled=",
    ];
    if !more.iter().all(|key| safe.iter().any(|safe| key.starts_with(safe)) || key.is_empty()) {
        return None;
    }
    let arguments: Vec<&str> = more.into_iter().filter(|key| !key.is_empty()).collect();
    let Ok(config) = Config::parse("users = directory", Path::new("/pam.conf"), &arguments) else {
        return None;
    };
    let (replies, answers): (Vec<_>, Vec<_>) = lines.zip(0..).partition(|(_, n)| n % 2 == 0);
    let list =
        |lines: Vec<(&str, i32)>| lines.into_iter().rev().map(|(l, _)| l.to_owned()).collect();
    let service = Replies { left: RefCell::new(list(replies)), right: Cell::new(false) };
    let mut user = Typist { left: list(answers), asked: 0 };
    let login = Login { user: "ada", program: "sshd", ..Login::default() };
    let mut journal = Plain(0);
    let outcome = log_in_with(&config, &service, &login, &mut user, &mut journal);
    assert_eq!(journal.0, 1, "one notice");
    assert!(outcome != Outcome::Accepted || service.right.get(), "{arguments:?}");
    assert!(user.asked < 20);
    Some(outcome)
}

/// Whether a text is one line that changes no terminal.
fn plain(text: &str) -> bool {
    !text
        .chars()
        .any(|c| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

/// A service that replies with the status and the JSON of the next line.
struct Replies {
    left: RefCell<Vec<String>>,
    /// Whether a reply let the user in.
    right: Cell<bool>,
}

impl Replies {
    fn reply<C: Call>(&self, call: &C) -> Result<C::Reply> {
        let gone = || Error::InvalidResponse { message: "\x1b[0mno reply\n".into() };
        let line = self.left.borrow_mut().pop().ok_or_else(gone)?;
        let (status, body) = line.split_once(' ').unwrap_or(("200", &line));
        let body = json::read(body.as_bytes()).unwrap_or(Value::Null);
        call.read_own(Reply::new(status.parse().unwrap_or(200), body))
    }
}

impl Backend for Replies {
    fn find_user(&self, _: &str) -> Result<Option<UserId>> {
        Ok(1.try_into().ok())
    }
    fn user_status(&self, call: &UserStatus) -> Result<UserStatusReply> {
        self.reply(call)
    }
    fn verify(&self, call: &Verify) -> Result<Verification> {
        let found = self.reply(call)?;
        self.right.set(self.right.get() || found.verdict == Verdict::Right);
        Ok(found)
    }
    fn request_sms(&self, call: &RequestSms) -> Result<CodeRequested> {
        self.reply(call)
    }
    fn request_call(&self, call: &RequestCall) -> Result<CodeRequested> {
        self.reply(call)
    }
    fn create_approval(&self, call: &CreateApproval) -> Result<ApprovalCreated> {
        self.reply(call)
    }
    fn wait_for_approval(&self, _: ApprovalWait, _: &mut dyn Sleeper) -> Result<Approval> {
        let found = self.reply(&CheckApproval::new("a-1".parse().unwrap()))?;
        let approved = found.approved_by(1.try_into().unwrap());
        self.right.set(self.right.get() || approved);
        Ok(found)
    }
    fn prepare_offline(&self, call: &PrepareOffline) -> Result<OfflinePrepared> {
        self.reply(call)
    }
    fn report_offline(&self, call: &ReportOffline) -> Result<Done> {
        self.reply(call)
    }
}

/// A user who types the next line.
struct Typist {
    left: Vec<String>,
    asked: u32,
}

impl Conversation for Typist {
    fn ask(&mut self, prompt: &str, _: bool) -> Typed {
        assert!(plain(prompt), "{prompt:?}");
        self.asked += 1;
        self.left.pop().map(Secret::new).ok_or(Silent)
    }
    fn show(&mut self, text: &str, _: Style) -> std::result::Result<(), Silent> {
        assert!(plain(text), "{text:?}");
        Ok(())
    }
    fn pressed_enter(&mut self, _: Duration) -> bool {
        true
    }
    fn holds_text_back(&self) -> bool {
        self.left.len().is_multiple_of(2)
    }
}

/// Counts the notices.
struct Plain(u32);

impl Journal for Plain {
    fn error(&mut self, text: &str) {
        assert!(plain(text), "{text:?}");
    }
    fn notice(&mut self, text: &str) {
        assert!(plain(text), "{text:?}");
        self.0 += 1;
    }
}
