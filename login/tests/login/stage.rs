//! An engine, a user, and what they say.

use seconder::calls::RequestSms;
use seconder::engine::{Clock, DeviceType, Message};
use seconder::model::{Secret, UserId};
use seconder::{Handle, Service, Settings};
use seconder_login::config::Config;
use seconder_login::{
    Backend, Conversation, Journal, Login, Outcome, Silent, Style, Typed, log_in_with, run_command,
};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A clock that a test advances.
#[derive(Clone, Debug)]
pub(crate) struct ManualClock(Arc<Mutex<u64>>);

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_secs(*self.0.lock().unwrap())
    }
}

impl ManualClock {
    pub(crate) fn advance(&self, seconds: u64) {
        *self.0.lock().unwrap() += seconds;
    }
}

/// A service with one user, ada, whose id is 1.
pub(crate) struct Stage {
    pub(crate) service: Service,
    pub(crate) user: UserId,
    pub(crate) clock: ManualClock,
    pub(crate) sent: Arc<Mutex<Vec<String>>>,
    folder: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        Stage::with_limits("")
    }

    pub(crate) fn with_limits(more: &str) -> Stage {
        let clock = ManualClock(Arc::new(Mutex::new(1_000_000)));
        let sent = Arc::new(Mutex::new(Vec::new()));
        let codes = sent.clone();
        let deliver = move |message: &Message| {
            codes.lock().unwrap().push(message.code.clone());
            Ok(())
        };
        let settings = Settings::new("sandbox:?accept=right").clock(clock.clone()).deliver(deliver);
        // A test logs in often within a few minutes.
        let settings = settings.limits(format!("number_10_minutes=0 number_day=0 {more}"));
        let service = settings.offline_days(7).open().unwrap();
        let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("users"), format!("ada = {user}\nbob = 4711\n")).unwrap();
        Stage { service, user, clock, sent, folder }
    }

    /// Sends a code, and returns it.
    pub(crate) fn code(&self) -> String {
        self.clock.advance(60);
        let call = RequestSms { force: Some(true), ..RequestSms::new(self.user) };
        let _ = self.service.handle(&call).unwrap();
        self.sent.lock().unwrap().last().unwrap().clone()
    }

    /// Registers a phone that approves.
    pub(crate) fn phone(&self) -> seconder::engine::DeviceRegistered {
        self.service.engine().unwrap().register_device(self.user, DeviceType::Android).unwrap()
    }

    pub(crate) fn config(&self, more: &str) -> Config {
        let users = match more.contains("users =") {
            true => String::new(),
            false => format!("users = file:{}\n", self.folder.path().join("users").display()),
        };
        Config::parse(&format!("{users}{more}"), Path::new("/pam.conf"), &[]).unwrap()
    }

    /// Logs ada in from 192.0.2.7.
    pub(crate) fn log_in(&self, more: &str, user: &mut Script) -> Ended {
        self.log_in_as(more, user, Login { user: "ada", ..Login::default() })
    }

    pub(crate) fn log_in_as(&self, more: &str, user: &mut Script, login: Login<'_>) -> Ended {
        ask(&self.config(more), &self.service, user, login)
    }
}

/// Logs in, and checks what holds for every login.
pub(crate) fn ask(
    config: &Config,
    backend: &dyn Backend,
    user: &mut Script,
    login: Login<'_>,
) -> Ended {
    let remote = login.remote.or(Some("192.0.2.7"));
    let program = if login.program.is_empty() { "sshd" } else { login.program };
    let run_command = login.run_command.or(Some(run_command));
    let login = Login { program, remote, run_command, ..login };
    let mut journal = Lines::default();
    let outcome = log_in_with(config, backend, &login, user, &mut journal);
    assert_eq!(journal.notices.len(), 1, "{:?}", journal.notices);
    let all = journal.notices.iter().chain(&journal.errors);
    for line in all.clone().chain(&user.shown).chain(&user.asked) {
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
    for line in all {
        for secret in user.typed.iter().filter(|typed| typed.len() > 5) {
            assert!(!line.contains(secret.as_str()), "{line}");
        }
    }
    Ended { outcome, notice: journal.notices.remove(0), errors: journal.errors }
}

/// How a login ended, and what the operator reads.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) notice: String,
    pub(crate) errors: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) notices: Vec<String>,
    pub(crate) errors: Vec<String>,
}

impl Journal for Lines {
    fn error(&mut self, text: &str) {
        self.errors.push(text.to_owned());
    }
    fn notice(&mut self, text: &str) {
        self.notices.push(text.to_owned());
    }
}

/// What a user says to a question.
pub(crate) enum Says {
    Text(String),
    /// The code that was sent last.
    Sent(Arc<Mutex<Vec<String>>>),
}

/// A user with a script. When it is at its end, nobody answers any more.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) says: VecDeque<Says>,
    pub(crate) asked: Vec<String>,
    pub(crate) shown: Vec<String>,
    pub(crate) typed: Vec<String>,
    pub(crate) holds_text_back: bool,
    /// Whether Enter is pressed in each pause of a wait.
    pub(crate) enters: bool,
    /// What happens on the phone before each question, and in each pause of a wait.
    pub(crate) meanwhile: Option<Box<dyn FnMut()>>,
    /// Who looks at the screen.
    pub(crate) reader: Option<Sender<String>>,
    pub(crate) passed_on: Option<String>,
}

impl Script {
    pub(crate) fn of(texts: &[&str]) -> Script {
        let says = texts.iter().map(|text| Says::Text((*text).to_owned())).collect();
        Script { says, ..Script::default() }
    }

    pub(crate) fn then_sent(mut self, stage: &Stage) -> Script {
        self.says.push_back(Says::Sent(stage.sent.clone()));
        self
    }

    fn reads(&self, text: &str) {
        if let Some(reader) = &self.reader {
            reader.send(text.to_owned()).unwrap();
        }
    }

    fn meanwhile(&mut self) {
        if let Some(meanwhile) = &mut self.meanwhile {
            meanwhile();
        }
    }
}

impl Conversation for Script {
    fn ask(&mut self, prompt: &str, echo: bool) -> Typed {
        assert!(!echo);
        self.asked.push(prompt.to_owned());
        self.reads(prompt);
        self.meanwhile();
        let text = match self.says.pop_front().ok_or(Silent)? {
            Says::Text(text) => text,
            Says::Sent(sent) => sent.lock().unwrap().last().unwrap().clone(),
        };
        self.typed.push(text.clone());
        Ok(Secret::new(text))
    }

    fn show(&mut self, text: &str, _: Style) -> Result<(), Silent> {
        self.shown.push(text.to_owned());
        self.reads(text);
        Ok(())
    }

    fn pressed_enter(&mut self, _: Duration) -> bool {
        self.meanwhile();
        self.enters
    }

    fn holds_text_back(&self) -> bool {
        self.holds_text_back
    }

    fn pass_on(&mut self, password: Secret) -> Result<(), Silent> {
        self.passed_on = Some(password.expose().to_owned());
        Ok(())
    }
}
