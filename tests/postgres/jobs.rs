//! Messages that several nodes send: each of them once.

use super::{enrol, settings};
use crate::fresh::{ManualClock, at_once};
use crate::postgres_server::Server;
use seconder::Service;
use seconder::engine::{Deliver, Message, Outcome};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const BUDGET: Duration = Duration::from_secs(60);
const NOW: u64 = 1_700_006_400;

/// A gateway that takes no message the first time.
#[derive(Clone, Default)]
struct Hesitant(Arc<Mutex<BTreeMap<String, u32>>>);

impl Deliver for Hesitant {
    fn deliver(&self, _: &Message) -> Result<(), String> {
        unreachable!("attempt is called")
    }

    fn attempt(&self, message: &Message, _: &str) -> Outcome {
        let mut attempts = self.0.lock().unwrap();
        let count = attempts.entry(message.id.clone()).or_default();
        *count += 1;
        match *count {
            1 => Outcome::Retry { after: None, reason: "busy".to_owned() },
            _ => Outcome::Sent(Some("taken".to_owned())),
        }
    }
}

#[test]
fn each_message_is_sent_by_one_of_the_nodes() {
    let server = Server::start();
    let url = server.database("jobs");
    let (gateway, clock) = (Hesitant::default(), ManualClock::at(NOW));
    let node = || -> Service {
        let settings = settings(&server, &url).clock(clock.clone());
        settings.deliver(gateway.clone()).open().unwrap()
    };
    let nodes = [node(), node()];
    for number in 0..60 {
        nodes[0].request_sms(enrol(&nodes[0], 300 + number)).unwrap();
    }
    clock.set(NOW + 60);
    let both = [&nodes[0], &nodes[1]];
    let sent = at_once(both, |node, _| node.engine().unwrap().run_jobs(BUDGET).unwrap().sent);
    assert_eq!(sent.iter().sum::<u32>(), 60);
    let attempts = gateway.0.lock().unwrap();
    assert_eq!((attempts.len(), attempts.values().max()), (60, Some(&2)));
}
