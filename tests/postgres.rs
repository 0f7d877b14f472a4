//! The engine on a PostgreSQL database that several nodes share: nothing is accepted twice, and
//! nothing that was acknowledged is lost, whatever happens to connections, nodes and the server.

#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod jobs;
mod lookups;
mod pooler;
mod trust;

use crate::fresh::at_once;
use crate::postgres_server::Server;
use seconder::calls::{CreateUser, Verify};
use seconder::engine::operator::{CreateApp, ListApprovals};
use seconder::engine::{AuditFilter, Delivery, Message};
use seconder::keyring::Keyring;
use seconder::model::{Token, UserId};
use seconder::otp::Totp;
use seconder::{Error, Handle, Service, Settings, Verdict};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant, SystemTime};

type Sent = Arc<Mutex<BTreeMap<String, String>>>;

fn settings(server: &Server, url: &str) -> Settings {
    let ring = server.folder().join("ring");
    if !ring.exists() {
        Keyring::at(&ring).create().unwrap();
    }
    Settings::new(url).keyring(ring)
}

/// A node, and the codes that it has sent, by their numbers.
fn node(server: &Server, url: &str) -> (Service, Sent) {
    let sent = Sent::default();
    let keep = Arc::clone(&sent);
    let deliver = move |message: &Message| {
        keep.lock().unwrap().insert(message.to.clone(), message.code.clone());
        Ok(())
    };
    (settings(server, url).deliver(deliver).open().unwrap(), sent)
}

fn enrol(service: &Service, number: u32) -> UserId {
    let phone = format!("202-555-{number:04}");
    service.create_user("ada@example.com", &phone, "1").unwrap().user_id
}

fn forced(token: &str, user: UserId) -> Verify {
    Verify::new(user, token.parse::<Token>().unwrap())
}

#[allow(clippy::disallowed_methods, reason = "the engine under test uses the system's clock")]
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

/// The code that a new authenticator app of this user shows.
fn shown(service: &Service, user: UserId) -> String {
    let enrolled = service.enrol_authenticator(user).unwrap();
    Totp::from_uri(enrolled.uri.expose()).unwrap().code(now()).expose().to_owned()
}

fn rejected(opened: Result<Service, Error>, words: &str) {
    let Err(error) = opened else { panic!("it was opened") };
    let text = error.to_string();
    assert!(text.contains(words) && !text.contains("hidden"), "{text}");
}

#[test]
fn a_database_of_the_first_version_goes_on_with_its_users_and_settings() {
    let server = Server::start();
    let url = server.database("versions");
    let (first, _) = node(&server, &url);
    let user = enrol(&first, 100);
    first.set_login(user, &"Ada_L".parse().unwrap()).unwrap();
    first.create_approval(user, "Log in?").unwrap();
    let again = first.create_user("Later@example.com", "202-555-0100", "1").unwrap();
    assert_eq!(again.user_id, user);
    let finding = "SELECT string_agg(kind || name || id, ',' ORDER BY kind, name) FROM seconder.lookups \
                   WHERE kind LIKE 'find%'";
    let before = server.sql("versions", finding);
    server.sql("versions", "DELETE FROM seconder.lookups WHERE kind LIKE 'find%'");
    for index in ["users_due", "open_approvals_due", "audit_verdict", "audit_user_ip"] {
        server.sql("versions", &format!("DROP INDEX seconder.{index}"));
    }
    server.sql("versions", "UPDATE seconder.audit SET user_ip = '::ffff:192.0.2.7'");
    server.sql("versions", "ALTER TABLE seconder.open_approvals DROP COLUMN app_id");
    server.sql("versions", "ALTER TABLE seconder.devices DROP COLUMN used_at");
    server.sql("versions", "ALTER TABLE seconder.users DROP COLUMN locked_at");
    server.sql("versions", "ALTER TABLE seconder.authenticators DROP COLUMN algorithm");
    server.sql("versions", "ALTER TABLE seconder.users DROP COLUMN number_changed_at");
    server.sql("versions", "ALTER TABLE seconder.invitations DROP COLUMN by_sms");
    server.sql("versions", "ALTER TABLE seconder.codes DROP COLUMN route");
    drop(first);
    let later = ["force_codes", "logo", "authenticator_digits", "authenticator_period"];
    for column in later.into_iter().chain(["approval_seconds"]) {
        server.sql("versions", &format!("ALTER TABLE seconder.applications DROP COLUMN {column}"));
    }
    server.sql("versions", "ALTER TABLE seconder.operators DROP COLUMN apps");
    server.sql("versions", "ALTER TABLE seconder.audit DROP COLUMN request_id");
    server.sql("versions", "DELETE FROM seconder.migrations WHERE version > 1");
    server.sql(
        "versions",
        "INSERT INTO seconder.receipts (route, provider_id, subject, job_id, forget_at) VALUES \
         ('main', 'SMAB', 'user:1', 1, 9000000000000), ('main', '00', 'user:1', 2, 9000000000000), \
         ('main', '007F', NULL, 0, 9000000000002), ('main', '7f', 'user:1', 3, 9000000000000), \
         ('main', '7F', 'user:1', 4, 9000000000001)",
    );
    // Several nodes are started with the new version.
    let start = Barrier::new(3);
    let open = || {
        start.wait();
        node(&server, &url).0
    };
    let nodes: Vec<Service> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let stored = nodes[0].engine().unwrap().application_settings();
    assert_eq!((stored.force_codes, stored.authenticator_digits), (false, 6));
    assert!(nodes[2].user_status(user).is_ok());
    assert!(before.contains("find_number"), "{before}");
    assert_eq!(server.sql("versions", finding), before);
    let listed = nodes[1].operate(&ListApprovals::default()).unwrap().approvals;
    assert_eq!(listed.iter().map(|entry| entry.user_id).collect::<Vec<_>>(), [user.get()]);
    let from = AuditFilter { user_ip: "192.0.2.7".parse().ok(), ..AuditFilter::default() };
    assert!(!nodes[1].engine().unwrap().audit(&from, None, 10).unwrap().entries.is_empty());
    for id in ["SMAB", "smab", "0", "0007F"] {
        let engine = nodes[1].engine().unwrap();
        assert!(engine.receipt("main", id, &Delivery::Pending).unwrap(), "{id}");
    }
    let kept =
        "SELECT string_agg(provider_id || job_id, ' ' ORDER BY provider_id) FROM seconder.receipts";
    assert_eq!(server.sql("versions", kept), "02 7f4 smab1");
    drop(settings(&server, &url).logo("https://app.example/l.png").open().unwrap());
    let stored = node(&server, &url).0.engine().unwrap().application_settings();
    assert_eq!(stored.logo.unwrap().as_str(), "https://app.example/l.png");
}

#[test]
fn users_are_found_by_what_is_known_of_them() {
    let server = Server::start();
    let url = server.database("finding");
    let (first, _) = node(&server, &url);
    let create = CreateApp { name: "Second".into(), ..CreateApp::default() };
    let key = first.operate(&create).unwrap().api_key;
    let second = settings(&server, &url).api_key(key.expose()).open().unwrap();
    crate::listing::users_are_found(&first, &second);
}

#[test]
fn nothing_is_accepted_of_a_locked_user_and_nothing_sent() {
    let server = Server::start();
    let url = server.database("locked");
    let (service, sent) = node(&server, &url);
    let code = || sent.lock().unwrap().values().next().unwrap().clone();
    crate::operations::a_user_is_locked_and_unlocked(&service, &code);
}

#[test]
fn a_user_keeps_everything_but_the_former_number() {
    let server = Server::start();
    let (service, sent) = node(&server, &server.database("numbers"));
    crate::numbers::a_number_is_changed(&service, &|to| sent.lock().unwrap()[to].clone());
}

#[test]
fn two_nodes_decide_as_one() {
    let server = Server::start();
    let url = server.database("two");
    drop(settings(&server, &url));
    // All create the tables at once, and one of them the application.
    let start = Barrier::new(4);
    let nodes: Vec<(Service, Sent)> = std::thread::scope(|scope| {
        let open = || {
            start.wait();
            node(&server, &url)
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let keys: Vec<_> = nodes.iter().map(|(n, _)| n.engine().unwrap().api_key()).collect();
    assert!(keys.iter().all(|key| *key == keys[0]));
    let both = [&nodes[0].0, &nodes[1].0];

    // One number is enrolled once, and one login name goes to one user.
    let users = at_once(both, |service, _| enrol(service, 100));
    assert!(users.iter().all(|user| *user == users[0]));
    let others = at_once(both, |service, number| enrol(service, 200 + number as u32));
    let set = at_once(both, |service, number| {
        service.set_login(others[number], &"ada".parse().unwrap()).is_ok()
    });
    assert_eq!(set.iter().filter(|done| **done).count(), 1);

    // So is the address of a user without a number.
    let created = at_once(both, |service, _| {
        let call = CreateUser::without_phone("eve@example.com".parse().unwrap());
        let user = service.handle(&call).unwrap();
        (user.user_id, user.created)
    });
    assert!(created.iter().all(|(user, _)| *user == created[0].0));
    assert_eq!(created.iter().filter(|(_, new)| *new == Some(true)).count(), 1);

    // A right code is accepted once, of each kind.
    let user = users[0];
    let shown = shown(both[0], user);
    both[0].request_sms(user).unwrap();
    let sent = nodes[0].1.lock().unwrap()["+12025550100"].clone();
    for code in [shown, sent] {
        let results = at_once(both, |service, _| service.handle(&forced(&code, user)).unwrap());
        let right = results.iter().filter(|result| result.verdict == Verdict::Right).count();
        assert_eq!(right, 1);
    }

    // At most five requests are open, and five guesses at a code are looked at.
    at_once(both, |service, _| service.create_approval(user, "Log in?").unwrap());
    let open = server.sql("two", "SELECT count(*) FROM seconder.open_approvals");
    assert_eq!(open, "5");
    let user = enrol(both[0], 300);
    both[0].request_sms(user).unwrap();
    at_once(both, |service, _| drop(service.handle(&forced("0000000", user))));
    let tries = server.sql("two", "SELECT max(wrong_tries) FROM seconder.codes WHERE spent = 0");
    assert!(tries.parse::<u32>().unwrap() <= 5, "{tries}");

    // Counts of both arrive, each in a row of its node.
    let stats = both[0].app_stats().unwrap();
    assert_eq!(stats.total_users, Some(35));
}

/// Each has a ring of its own, and the database is new.
#[test]
fn of_nodes_with_several_rings_that_start_at_once_one_gets_the_database() {
    let server = Server::start();
    let rings = [0, 1].map(|number| server.folder().join(format!("ring_{number}")));
    rings.iter().for_each(|ring| Keyring::at(ring).create().unwrap());
    for round in 0..4 {
        let url = server.database(&format!("rings_{round}"));
        let open = |ring: &Path| Settings::new(&url).keyring(ring).open();
        let start = Barrier::new(8);
        let opened: Vec<_> = std::thread::scope(|scope| {
            let work = |place: usize| {
                let (start, ring, open) = (&start, &rings[place % 2], &open);
                move || {
                    start.wait();
                    open(ring)
                }
            };
            let threads: Vec<_> = (0..8).map(|place| scope.spawn(work(place))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let winner = opened.iter().position(Result::is_ok).unwrap() % 2;
        for (place, node) in opened.into_iter().enumerate() {
            match place % 2 == winner {
                true => enrol(&node.unwrap(), 100),
                false => {
                    rejected(node, "is not that of the database");
                    continue;
                }
            };
        }
        // Nothing is left that the other ring has sealed, so the database needs this one alone.
        rejected(open(&rings[1 - winner]), "is not that of the database");
        let service = open(&rings[winner]).unwrap();
        let sealed = service.engine().unwrap().sealed_values().unwrap();
        assert_eq!(sealed.len(), 1, "{sealed:?}");
    }
}

/// The process that `a_node_that_is_killed_loses_nothing` kills.
#[test]
#[ignore = "runs as the child of another test"]
fn child_that_is_killed() {
    let input = std::io::read_to_string(std::io::stdin()).unwrap();
    let mut parts = input.trim_end().split(' ');
    let (ring, url) = (parts.next().unwrap(), parts.next().unwrap());
    let service = Settings::new(url).keyring(ring).deliver(|_: &Message| Ok(())).open().unwrap();
    for number in 0..9_000 {
        let user = enrol(&service, number);
        let code = shown(&service, user);
        let result = service.handle(&forced(&code, user)).unwrap();
        assert_eq!(result.verdict, Verdict::Right);
        println!("accepted {user} {code}");
    }
}

#[test]
fn a_node_that_is_killed_loses_nothing() {
    let server = Server::start();
    let url = server.database("killed");
    let (service, _) = node(&server, &url);
    for round in 0..3 {
        server.sql("killed", "DELETE FROM seconder.lookups WHERE kind = 'phone'");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "postgres::child_that_is_killed", "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let ring = server.folder().join("ring");
        write!(child.stdin.take().unwrap(), "{} {url}", ring.display()).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let accepted = |line: String| line.strip_prefix("accepted ").map(str::to_owned);
        let mut seen: Vec<String> = lines.by_ref().filter_map(accepted).take(10 + round).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        seen.extend(lines.filter_map(accepted));
        for line in seen {
            let Some((user, code)) = line.split_once(' ') else { continue };
            // The last line may be cut off, and is no acknowledgement then.
            if code.len() == 6 {
                let result = service.handle(&forced(code, user.parse().unwrap())).unwrap();
                assert_eq!(result.verdict, Verdict::Wrong, "{line} was accepted twice");
            }
        }
    }
}

/// Threads verify codes while connections are cut and the server restarts. A call may fail, but no code
/// is accepted twice, and one that was accepted stays so.
#[test]
fn no_code_is_accepted_twice_while_connections_are_cut() {
    let mut server = Server::start();
    let url = server.database("cut");
    let nodes = [node(&server, &url), node(&server, &url)];
    let users: Vec<UserId> = (0..120).map(|number| enrol(&nodes[0].0, number)).collect();
    let codes: Vec<String> = users.iter().map(|user| shown(&nodes[0].0, *user)).collect();
    let stop = AtomicBool::new(false);
    let results: Vec<Vec<(usize, bool)>> = std::thread::scope(|scope| {
        let work = |thread: usize| {
            let (service, codes, users) = (&nodes[thread % 2].0, &codes, &users);
            move || {
                let mut seen = Vec::new();
                for place in (0..users.len()).filter(|place| place % 2 == thread / 2 % 2) {
                    for _ in 0..2 {
                        if let Ok(r) = service.handle(&forced(&codes[place], users[place])) {
                            seen.push((place, r.verdict == Verdict::Right));
                        }
                        std::thread::sleep(Duration::from_millis(5));
                    }
                }
                seen
            }
        };
        let threads: Vec<_> = (0..8).map(|thread| scope.spawn(work(thread))).collect();
        let (cutting, stopped) = (&mut server, &stop);
        let cutter = scope.spawn(move || {
            let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                       WHERE application_name = 'seconder'";
            for round in 0.. {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(13 + round % 7));
                cutting.sql("postgres", cut);
                if round == 10 {
                    cutting.stop();
                    cutting.go();
                }
            }
        });
        let results = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        stop.store(true, Ordering::Relaxed);
        cutter.join().unwrap();
        results
    });
    let all: Vec<_> = results.into_iter().flatten().collect();
    for place in 0..users.len() {
        let right = all.iter().filter(|(of, right)| *of == place && *right).count();
        assert!(right <= 1, "the code of {place} was accepted {right} times");
        if right == 1 {
            let again = nodes[1].0.handle(&forced(&codes[place], users[place])).unwrap();
            assert_eq!(again.verdict, Verdict::Wrong, "{place}");
        }
    }
    assert!(all.iter().any(|(_, right)| *right));
}

#[test]
fn nothing_hangs_while_the_server_does() {
    let server = Server::start();
    let url = server.database("hung");
    let (service, _) = node(&server, &url);
    let user = enrol(&service, 1);
    server.signal("STOP");
    let started = Instant::now();
    let written = service.handle(&forced("123456", user));
    let read = service.user_status(user);
    let took = started.elapsed();
    server.signal("CONT");
    assert!(matches!(written, Err(Error::Storage { .. })), "{written:?}");
    assert!(matches!(read, Err(Error::Storage { .. })), "{read:?}");
    assert!(took < Duration::from_secs(25), "{took:?}");
    // The same handle works again.
    service.user_status(user).unwrap();
    assert_eq!(service.handle(&forced("123456", user)).unwrap().verdict, Verdict::Wrong);
}

#[test]
fn a_server_that_was_away_is_used_again_without_opening() {
    let mut server = Server::start();
    let url = server.database("away");
    let (service, _) = node(&server, &url);
    let user = enrol(&service, 1);
    server.stop();
    let error = service.user_status(user).unwrap_err();
    assert!(matches!(error, Error::Storage { .. }), "{error}");
    server.go();
    service.user_status(user).unwrap();
    enrol(&service, 2);
}

#[test]
fn a_database_that_cannot_be_used_is_rejected_and_left_unchanged() {
    let server = Server::start();
    let open = |url: &str| settings(&server, url).open();
    rejected(open(&server.url("missing")), "no such database");

    let url = server.database("empty");
    rejected(settings(&server, &url).must_exist(true).open(), "must_exist");
    rejected(Settings::new(&url).open(), "keyring");

    let theirs = server.database("theirs");
    server.sql("theirs", "CREATE SCHEMA seconder; CREATE TABLE seconder.users (name text)");
    rejected(open(&theirs), "another program");
    server.sql("theirs", "CREATE TABLE seconder.migrations (name text)");
    rejected(open(&theirs), "another program");
    assert_eq!(
        server.sql("theirs", "SELECT count(*) FROM pg_tables WHERE schemaname = 'seconder'"),
        "2"
    );

    let newer = server.database("newer");
    drop(open(&newer).unwrap());
    server.sql("newer", "INSERT INTO seconder.migrations VALUES (99, '\\x00')");
    rejected(open(&newer), "newer version");
    server.sql("newer", "DELETE FROM seconder.migrations WHERE version = 99; UPDATE seconder.migrations SET hash = '\\x00'");
    rejected(open(&newer), "another build");

    let standby = server.database("standby");
    server.sql("standby", "ALTER DATABASE standby SET default_transaction_read_only = on");
    rejected(open(&standby), "only reads");

    let rights = server.database("rights");
    server.sql("rights", "CREATE ROLE guest LOGIN");
    rejected(open(&rights.replace("//seconder@", "//guest@")), "rights");
    rejected(open("postgres://u:hidden@127.0.0.1:1/d?sslmode=disable"), "refused");
}
