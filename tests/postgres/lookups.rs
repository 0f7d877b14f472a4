//! Look-ups of numbers by several nodes: what one has learned, all know.

use super::settings;
use crate::fresh::at_once;
use crate::postgres_server::Server;
use seconder::calls::{PhoneInfo, PhoneType};
use seconder::engine::{LineType, PhoneLine};
use seconder::{Handle, Service};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn nodes_share_what_was_looked_up_and_the_limit_of_a_day() {
    let server = Server::start();
    let url = server.database("lookups");
    let asked = Arc::new(AtomicUsize::new(0));
    let node = || -> Service {
        let asked = Arc::clone(&asked);
        let lookup = move |_: &str| {
            asked.fetch_add(1, Ordering::Relaxed);
            Some(PhoneLine { kind: Some(LineType::Mobile), ..PhoneLine::default() })
        };
        let settings = settings(&server, &url).deliver(|_: &_| Ok(()));
        settings.limits("lookup_day=20").lookup(lookup).open().unwrap()
    };
    let info = |node: &Service, number: u64| {
        let number = format!("20255{number:05}").parse().unwrap();
        node.handle(&PhoneInfo::new(number, "1".parse().unwrap())).unwrap().phone_type
    };
    let nodes = [node(), node()];
    assert_eq!(info(&nodes[0], 0), PhoneType::Cellphone);
    assert_eq!(info(&nodes[1], 0), PhoneType::Cellphone);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    at_once([&nodes[0], &nodes[1]], |node, place| {
        let first = 1 + 50 * u64::try_from(place).unwrap();
        for number in first..first + 50 {
            info(node, number);
        }
    });
    assert_eq!(asked.load(Ordering::Relaxed), 20);
}
