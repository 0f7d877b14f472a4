//! Clients that request codes and use some of them, whatever becomes of the nodes, and write down what
//! they were promised.

use crate::node::Address;
use crate::provider::{Provider, Received};
use seconder::calls::{RequestSms, Verify};
use seconder::model::UserId;
use seconder::otp::Totp;
use seconder::{Handle, Service, Verdict};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How the providers treat messages to a number, and what its user does with the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Each provider fails at times.
    Usual,
    /// As usual; the code is used at once.
    Used,
    /// Each provider reads it, and dies before it responds; the code is used at once, so that none of
    /// the attempts that are due may be made.
    UsedUnconfirmed,
    /// Its only provider rejects it, each time.
    Rejected,
}

impl Kind {
    pub(crate) fn of(number: &str) -> Kind {
        match &number[number.len() - 2..] {
            _ if number.starts_with("+44") => Kind::Rejected,
            "20" | "40" | "60" | "80" => Kind::UsedUnconfirmed,
            place if place.ends_with('5') => Kind::Used,
            _ => Kind::Usual,
        }
    }

    fn is_used(self) -> bool {
        matches!(self, Kind::Used | Kind::UsedUnconfirmed)
    }
}

/// A user, with the number as gateways get it.
#[derive(Clone)]
pub(crate) struct User {
    pub(crate) id: UserId,
    pub(crate) number: String,
    /// For some, who log in by it and request no code.
    pub(crate) app: Option<Totp>,
}

/// How many codes of apps were used, and how many of them were certainly accepted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Apps {
    pub(crate) used: usize,
    pub(crate) accepted: usize,
}

/// What a client knows of a code that it requested.
pub(crate) struct Requested {
    pub(crate) user: User,
    /// Whether the call was successful. One that failed may still send a message.
    pub(crate) promised: bool,
    /// When the call ended.
    pub(crate) ended: Instant,
    /// When it was known that the code was used.
    pub(crate) used: Option<Instant>,
}

/// What the clients share.
pub(crate) struct Load<'a> {
    pub(crate) nodes: Vec<Address>,
    pub(crate) providers: &'a [Provider],
    pub(crate) users: Mutex<Vec<User>>,
    /// The users whom clients have created meanwhile.
    pub(crate) created: Mutex<Vec<UserId>>,
    pub(crate) apps: Mutex<Apps>,
    pub(crate) stop: AtomicBool,
}

impl Load<'_> {
    /// Requests a code for one user after the other, until the test ends: from this node first, and from
    /// the next one whenever a call fails.
    pub(crate) fn request(&self, first: usize) -> Vec<Requested> {
        let mut log = Vec::new();
        for place in first.. {
            if self.stop.load(Ordering::Relaxed) || self.users.lock().unwrap().is_empty() {
                return log;
            }
            match self.nodes[place % self.nodes.len()].client() {
                Ok(client) => while self.request_one(&client, &mut log) {},
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        log
    }

    /// Returns whether the client can go on with this node.
    fn request_one(&self, client: &Service, log: &mut Vec<Requested>) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            return false;
        }
        let Some(user) = self.users.lock().unwrap().pop() else { return false };
        if let Some(app) = &user.app {
            self.use_app(&user, app);
            return true;
        }
        let number = user.number.trim_start_matches('+').replacen("2025", "2026", 1);
        if let Some(number) = number.strip_prefix("1")
            && let Ok(created) = client.create_user("bob@example.com", number, "1")
        {
            self.created.lock().unwrap().push(created.user_id);
        }
        let call = RequestSms { force: Some(true), ..RequestSms::new(user.id) };
        let promised = client.handle(&call).is_ok();
        let ended = Instant::now();
        let mut used = None;
        if promised
            && Kind::of(&user.number).is_used()
            && let Some(code) = self.read(&user)
        {
            used = self.verify(&user, &code).0;
        }
        log.push(Requested { user, promised, ended, used });
        // So that the load lasts until the last kill.
        std::thread::sleep(Duration::from_millis(20));
        promised
    }

    /// The code that a phone shows, if it arrives soon.
    fn read(&self, user: &User) -> Option<String> {
        for _ in 0..100 {
            let log = self.providers.iter().flat_map(Provider::log);
            let sent = log.filter(is_sent).find(|sent| sent.body["to"] == *user.number);
            if let Some(sent) = sent {
                return Some(sent.body["code"].as_str().unwrap().to_owned());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// Uses the code that an app shows, and once it was accepted, each node is asked again.
    fn use_app(&self, user: &User, app: &Totp) {
        let code = app.code(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs());
        let (_, accepted) = self.verify(user, code.expose());
        let mut apps = self.apps.lock().unwrap();
        apps.used += 1;
        apps.accepted += usize::from(accepted);
        drop(apps);
        for place in 0..if accepted { self.nodes.len() } else { 0 } {
            let again = self.verify_from(place, user, code.expose());
            assert_ne!(again.verdict, Some(Verdict::Right), "the app of {}", user.number);
        }
    }

    /// Uses a code twice at once, by two nodes if there are as many. Returns when it was certain that it was
    /// used, if the nodes live long enough, and whether a client knows that it was accepted.
    fn verify(&self, user: &User, code: &str) -> (Option<Instant>, bool) {
        let uses: Vec<Use> = std::thread::scope(|scope| {
            let uses = [0, 1].map(|first| scope.spawn(move || self.verify_from(first, user, code)));
            uses.into_iter().map(|used| used.join().unwrap()).collect()
        });
        let right = uses.iter().filter(|used| used.verdict == Some(Verdict::Right)).count();
        assert!(right <= 1, "the code of {} was accepted twice", user.number);
        // An attempt whose response was lost may have used it.
        let may_be_lost = uses.iter().any(|used| used.failed);
        assert!(right == 1 || may_be_lost, "the code of {} was accepted by nobody", user.number);
        let ends = uses.iter().filter(|used| used.verdict.is_some()).map(|used| used.at);
        (ends.min(), right == 1)
    }

    fn verify_from(&self, first: usize, user: &User, code: &str) -> Use {
        let call = Verify::new(user.id, code.parse().unwrap());
        let mut failed = false;
        for attempt in first..first + 20 {
            let node = &self.nodes[attempt % self.nodes.len()];
            match node.client().and_then(|client| client.handle(&call)) {
                Ok(result) => {
                    return Use { verdict: Some(result.verdict), failed, at: Instant::now() };
                }
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
            failed = true;
        }
        Use { verdict: None, failed, at: Instant::now() }
    }
}

/// What came of using a code.
struct Use {
    /// What the node that responded decided.
    verdict: Option<Verdict>,
    /// Whether an attempt before had no response.
    failed: bool,
    at: Instant,
}

/// Whether the user may have got it.
pub(crate) fn is_sent(received: &Received) -> bool {
    [200, crate::provider::DIES].contains(&received.status)
}
