//! A clock that is set by an hour while clients verify codes of a running service: those that were used or have
//! expired stay so, later ones are as good as ever, and nobody waits for it.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "a clock of the test shows the time of the machine")]

use crate::common::World;
use crate::others::{Others, do_not_notice};
use seconder::calls::{RequestSms, Verify};
use seconder::engine::Clock;
use seconder::model::UserId;
use seconder::otp::Totp;
use seconder::{Handle, Service, Verdict};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

const HOUR: i64 = 60 * 60;

/// That of the machine, by how many seconds it is wrong, and how often it was set.
#[derive(Clone, Default)]
struct Set(Arc<Mutex<(i64, usize)>>);

impl Set {
    fn to(&self, seconds: i64) {
        let mut state = self.0.lock().unwrap();
        *state = (seconds, state.1 + 1);
    }

    fn times(&self) -> usize {
        self.0.lock().unwrap().1
    }
}

impl Clock for Set {
    fn now(&self) -> Duration {
        let state = self.0.lock().unwrap();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let by = Duration::from_secs(state.0.unsigned_abs());
        if state.0 < 0 { now - by } else { now + by }
    }
}

/// A running service whose clock may be set. It has a user for each code.
struct Clocked {
    world: World,
    clock: Set,
    users: AtomicU32,
}

impl Clocked {
    fn start() -> Clocked {
        let clock = Set::default();
        let limits = "key_rate=0 number_10_minutes=0 number_day=0 country_day=0 application_day=0";
        let world = World::with(|settings| settings.clock(clock.clone()).limits(limits));
        Clocked { world, clock, users: AtomicU32::new(0) }
    }

    fn user(&self, client: &Service) -> (UserId, String) {
        let number = format!("2025{:06}", self.users.fetch_add(1, Ordering::Relaxed));
        let user = client.create_user("ada@example.com", &number, "1").unwrap().user_id;
        (user, format!("+1{number}"))
    }

    /// A user, and the code that was sent, if it was still valid then.
    fn requested(&self, client: &Service) -> (UserId, Option<String>) {
        let (user, number) = self.user(client);
        client.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) }).unwrap();
        (user, self.world.code_for(&number))
    }

    /// The same where nobody sets the clock meanwhile.
    fn sent(&self, client: &Service) -> (UserId, String) {
        let (user, code) = self.requested(client);
        (user, code.unwrap())
    }

    /// A client that has codes sent and uses each of them twice.
    fn client(&self) -> impl FnMut() + Send {
        let client = self.world.client();
        move || {
            let times = self.clock.times();
            let (user, code) = self.requested(&client);
            let verify = |code: &String| verify(&client, user, code);
            let first = code.as_ref().map(verify);
            // An hour is more than the life of a code.
            let was_set = self.clock.times() != times;
            assert!(first == Some(Verdict::Right) || was_set, "{first:?}");
            assert_ne!(code.as_ref().map(verify), Some(Verdict::Right));
        }
    }
}

fn verify(client: &Service, user: UserId, code: &str) -> Verdict {
    let call = Verify::new(user, code.parse().unwrap());
    client.handle(&call).unwrap().verdict
}

#[test]
fn no_code_lives_again_and_nobody_waits_when_the_clock_is_set_by_an_hour() {
    let clocked = Clocked::start();
    let client = clocked.world.client();
    let mut others = [Others::new("codes", clocked.client())];
    do_not_notice(&mut others, |_| set_the_clock(&clocked, &client));
}

/// Sets the clock ahead, right, back and right again, and looks at codes of before.
fn set_the_clock(clocked: &Clocked, client: &Service) {
    let clock = &clocked.clock;
    let verify = |user, code: &str| verify(client, user, code);
    let (ada, _) = clocked.user(client);
    let app = Totp::from_uri(client.enrol_authenticator(ada).unwrap().uri.expose()).unwrap();
    let at = clock.now().as_secs();
    assert_eq!(verify(ada, app.code(at).expose()), Verdict::Right);
    let (bob, expired) = clocked.sent(client);
    clock.to(HOUR);
    assert_eq!(verify(bob, &expired), Verdict::Wrong);
    let (eve, code) = clocked.sent(client);
    assert_eq!(verify(eve, &code), Verdict::Right);
    for seconds in [0, -HOUR] {
        clock.to(seconds);
        assert_eq!(verify(bob, &expired), Verdict::Wrong, "{seconds}");
        assert_eq!(verify(eve, &code), Verdict::Wrong, "{seconds}");
        assert_eq!(verify(ada, app.code(at).expose()), Verdict::Wrong, "{seconds}");
        let (new, code) = clocked.sent(client);
        assert_eq!(verify(new, &code), Verdict::Right, "{seconds}");
    }
    // A code of the app is as good as ever once the clock shows a time that it has not shown yet.
    clock.to(60);
    assert_eq!(verify(ada, app.code(clock.now().as_secs()).expose()), Verdict::Right);
    clock.to(0);
}
