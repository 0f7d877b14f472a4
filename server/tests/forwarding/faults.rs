//! The old service is in trouble: nobody is let in by it, and who is here does not notice.

use super::side::{OLD_KEY, Side};
use super::{NUMBER, check, confirmed, status};
use crate::common::World;
use seconder::engine::operator::{Operation, ReturnUser};
use seconder::model::UserId;
use seconder::{Error, Settings, Verdict};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

const THERE: u64 = 77;

/// What a client is given for a user who is there, which is no verdict.
fn refused(new: &Side, user: UserId) -> String {
    let app = new.client();
    let shown = |error: Error| {
        let text = error.to_string();
        assert!(!text.contains(OLD_KEY) && !text.contains("1234567"), "{text}");
        text
    };
    let failed = status(new).failed;
    let verified = shown(check(&app, "1234567", user).unwrap_err());
    assert!(matches!(app.request_sms(user), Err(Error::Unavailable { .. })));
    assert_eq!(status(new).failed, failed + 2);
    shown(app.create_user("ada@example.com", NUMBER, "1").unwrap_err());
    assert_eq!(status(new).users_there, 0);
    verified
}

/// Answers each connection with these bytes, or not at all.
fn broken(reply: &'static [u8]) -> Settings {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                while stream.read(&mut [0; 4096]).is_ok_and(|length| length > 0) {
                    if !reply.is_empty() {
                        let _ = stream.write_all(reply);
                        return;
                    }
                }
            });
        }
    });
    Settings::new(&url).api_key(OLD_KEY).allow_loopback_http(true)
}

#[test]
fn an_error_of_the_other_service_lets_nobody_in_and_is_counted() {
    let user = THERE.try_into().unwrap();
    let down = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let down = Settings::new(&format!("http://{down}")).api_key(OLD_KEY).allow_loopback_http(true);
    let message = refused(&Side::to(down), user);
    assert!(message.contains("to which calls are forwarded failed"), "{message}");
    let page = b"HTTP/1.1 200 OK\r\nContent-Length: 31\r\nConnection: close\r\n\r\n<p>{\"token\":\"is valid\"} is</p>\n";
    let nested = b"HTTP/1.1 200 OK\r\nContent-Length: 29\r\nConnection: close\r\n\r\n{\"a\": {\"token\":\"is valid\"} }\n";
    for garbage in [page.as_slice(), nested] {
        let message = refused(&Side::to(broken(garbage)), user);
        assert!(message.contains("is not understood"), "{message}");
    }
    refused(&Side::to(broken(b"garbage\r\n\r\n")), user);
}

#[test]
fn a_wrong_certificate_or_key_lets_nobody_in() {
    let (old, other) = (World::start(), World::start());
    let user = confirmed(&old, NUMBER);
    let message = refused(&Side::to(old.settings().ca_file(other.ca_file())), user);
    assert!(message.contains("certificate"), "{message}");
    let message = refused(&Side::to(old.settings().api_key("not-the-key")), user);
    assert!(message.contains("rejected the API key of this service"), "{message}");
}

#[test]
fn who_is_here_does_not_wait_for_a_service_that_hangs() {
    let old = World::start();
    let new = Side::of(&old);
    let ada = new.client().create_user("ada@example.com", NUMBER, "1").unwrap().user_id;
    drop(old);
    let hangs = Side::beside(&new, broken(b"").timeout(Duration::from_secs(5)));
    let bob: UserId = THERE.try_into().unwrap();
    let client = || hangs.settings().timeout(Duration::from_secs(60)).open().unwrap();
    std::thread::scope(|scope| {
        // More than there are threads for calls.
        let asking = |_| {
            let client = client();
            scope.spawn(move || check(&client, "1234567", bob))
        };
        let asking: Vec<_> = (0..140).map(asking).collect();
        client().request_sms(ada).unwrap();
        assert_eq!(check(&client(), &new.code(), ada).unwrap(), Verdict::Right);
        assert!(asking.into_iter().all(|thread| thread.join().unwrap().is_err()));
    });
}

#[test]
fn services_that_forward_to_each_other_or_to_themselves_refuse_it() {
    let old = World::start();
    let first = Side::of(&old);
    let second = Side::to(first.settings());
    let user = confirmed(&old, NUMBER);
    let refused = check(&second.client(), "1234567", user).unwrap_err();
    let message = refused.to_string();
    assert!(message.contains("This service forwards calls"), "{message}");
    assert_eq!((status(&second).failed, status(&first).calls), (1, 0));
    // The calls of applications have no such mark.
    assert_eq!(check(&first.client(), "1234567", user).unwrap(), Verdict::Wrong);
}

#[test]
fn who_was_returned_is_not_let_in_while_the_other_service_is_down() {
    let old = World::start();
    let new = Side::of(&old);
    let app = new.client();
    let user = app.create_user("ada@example.com", NUMBER, "1").unwrap().user_id;
    app.request_sms(user).unwrap();
    ReturnUser { user_id: user }.carry_out(&new.engine).unwrap();
    drop(old);
    assert!(check(&app, &new.code(), user).is_err());
}
