//! Checks that a route survives a panic of its gateway.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use super::rate::Rate;
use super::settings::RouteSettings;
use super::*;
use seconder_gateways::Gateway;
use serde_json::Map;

/// A gateway that panics as long as this is true.
struct Panics(Arc<Mutex<bool>>);

impl Gateway for Panics {
    fn send(&self, _: &Outgoing<'_>) -> Outcome {
        assert!(!*locked(&self.0), "a gateway with an error");
        Outcome::Sent(None)
    }
}

/// Returns a message, as an engine makes it.
fn message() -> Message {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("seconder.db").display());
    let made = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&made);
    let deliver = move |message: &Message| {
        *locked(&keep) = Some(message.clone());
        Ok(())
    };
    let service = seconder::Settings::new(&url).deliver(deliver).open().unwrap();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    service.request_sms(user).unwrap();
    locked(&made).take().unwrap()
}

fn state(routes: &Routes) -> State {
    routes.states()[0].1
}

/// Lets the routes behave as if this much time had passed.
fn later(routes: &Routes) {
    let all = routes.all();
    let mut breaker = locked(&all[0].open.as_ref().unwrap().breaker);
    breaker.end_wait();
}

#[test]
fn a_panic_during_the_trial_of_a_breaker_leaves_the_route_usable() {
    let spooled = Spooled::beside("seconder.db".as_ref(), false);
    let routes = Routes::new(spooled, Arc::new(|_: &str| ()), None, Dialer::default());
    let (settings, _) = RouteSettings::read(&Map::new(), &mut Vec::new());
    let panics = Arc::new(Mutex::new(true));
    let open = OpenRoute {
        settings,
        gateway: Box::new(Panics(Arc::clone(&panics))),
        breaker: Mutex::default(),
        rate: Mutex::new(Rate::new(0)),
    };
    let stored = Some(Secret::new("{}"));
    let route = Route { name: "only".to_owned(), stored, unreadable: None, open: Ok(open) };
    routes.replace(vec![Arc::new(route)]);
    let message = message();
    let attempt = || catch_unwind(AssertUnwindSafe(|| routes.send_message("only", &message)));
    for _ in 0..5 {
        assert!(attempt().is_err());
    }
    assert_eq!(state(&routes), State::Open);
    later(&routes);
    assert_eq!(state(&routes), State::HalfOpen);
    assert!(attempt().is_err(), "the trial");
    assert_eq!(state(&routes), State::Open);
    assert!(matches!(attempt(), Ok(Outcome::NotAttempted { .. })));
    later(&routes);
    *locked(&panics) = false;
    assert_eq!(attempt().unwrap(), Outcome::Sent(None));
    assert_eq!(state(&routes), State::Closed);
}
