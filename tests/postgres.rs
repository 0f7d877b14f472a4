//! The engine on a PostgreSQL database that several nodes share: nothing is accepted twice, and
//! nothing that was acknowledged is lost, whatever happens to connections, nodes and the server.

#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod fresh;
#[path = "postgres/server.rs"]
mod server;

use fresh::at_once;
use seconder::calls::Verify;
use seconder::engine::Message;
use seconder::keyring::Keyring;
use seconder::model::{Token, UserId};
use seconder::otp::Totp;
use seconder::{Error, Handle, Service, Settings, Verdict};
use server::Server;
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
    Verify { force: true, ..Verify::new(token.parse::<Token>().unwrap(), user) }
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
    let keys: Vec<_> = nodes.iter().map(|(n, _)| n.engine().unwrap().api_key().clone()).collect();
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
    assert_eq!(stats.total_users, Some(34));
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
            .args(["--exact", "child_that_is_killed", "--ignored", "--nocapture"])
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

/// What `pg_hba.conf` says from now on.
fn admit(server: &Server, lines: &str) {
    let file = server.folder().join("data/pg_hba.conf");
    std::fs::write(file, format!("local all all trust\n{lines}\n")).unwrap();
    server.sql("postgres", "SELECT pg_reload_conf()");
    // The server reads it soon, and a new connection after that.
    std::thread::sleep(Duration::from_millis(300));
}

#[test]
fn passwords_of_the_url_and_of_a_file_are_accepted_and_never_shown() {
    let server = Server::start();
    server.database("d");
    server.sql("postgres", "CREATE ROLE anna LOGIN SUPERUSER PASSWORD 'p@ss w\\rd'");
    let port = server.port();
    let open = |account: &str, query: &str| {
        settings(&server, &format!("postgres://{account}@127.0.0.1:{port}/d?{query}")).open()
    };
    for kind in ["scram-sha-256", "md5"] {
        admit(&server, &format!("host all all 127.0.0.1/32 {kind}"));
        open("anna:p%40ss%20w%5Crd", "").unwrap();
        rejected(open("anna:hidden", ""), "password");
    }
    let file = server.folder().join("passes");
    std::fs::write(&file, "# Ours.\n127.0.0.1:*:d:anna:p@ss w\\\\rd\n").unwrap();
    let query = format!("passfile={}", file.display());
    mode(&file, 0o644);
    rejected(open("anna", &query), "chmod 600");
    mode(&file, 0o600);
    open("anna", &query).unwrap();
    rejected(open("bert", &query), "has none for");
    rejected(open("anna", "passfile=/nowhere"), "cannot be read");
    admit(&server, "host all all 127.0.0.1/32 password");
    rejected(open("anna:hidden", "sslmode=disable"), "clear text");
    admit(&server, "host all all 127.0.0.1/32 reject");
    rejected(open("anna:hidden", ""), "pg_hba.conf");
}

fn mode(file: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// A server with a certificate for `localhost` by an authority of its own.
fn with_tls() -> Server {
    let mut server = Server::start();
    let authority = {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        (params.self_signed(&key).unwrap().pem(), rcgen::Issuer::new(params, key))
    };
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let own = params.signed_by(&key, &authority.1).unwrap();
    let write = |name: &str, text: &str| std::fs::write(server.folder().join(name), text).unwrap();
    write("ca.crt", &authority.0);
    write("data/server.crt", &own.pem());
    write("data/server.key", &key.serialize_pem());
    server.own(&server.folder().join("data/server.key"), 0o600);
    server.stop();
    server.set("ssl=on");
    server.set("log_connections=on");
    server.go();
    server
}

#[test]
fn tls_is_used_and_certificates_are_verified_as_sslmode_says() {
    let server = with_tls();
    server.database("d");
    let port = server.port();
    let ca = server.folder().join("ca.crt");
    let other = server.folder().join("other.crt");
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, "another");
    std::fs::write(&other, params.self_signed(&key).unwrap().pem()).unwrap();
    let open = |host: &str, query: String| {
        settings(&server, &format!("postgres://seconder@{host}:{port}/d?{query}")).open()
    };
    let listed = |mode: &str, file: &Path| format!("sslmode={mode}&sslrootcert={}", file.display());
    let plain = |mode: &str| format!("sslmode={mode}");
    let connections = || {
        let ask = "SELECT ssl, state, now() - backend_start, query FROM pg_stat_ssl \
                   JOIN pg_stat_activity USING (pid) WHERE application_name = 'seconder' \
                   ORDER BY backend_start DESC";
        server.sql("d", ask)
    };
    let expect = |service: Result<Service, Error>, is_encrypted: bool| {
        let service = service.unwrap();
        let found = connections();
        let newest = if is_encrypted { "t|" } else { "f|" };
        assert!(found.starts_with(newest), "{found}\n{}", server.log());
        drop(service);
        // The server notices soon that a connection is closed.
        while !connections().is_empty() {
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    expect(open("localhost", plain("disable")), false);
    expect(open("localhost", plain("allow")), false);
    expect(open("localhost", plain("prefer")), true);
    expect(open("127.0.0.1", plain("require")), true);
    expect(open("127.0.0.1", listed("verify-ca", &ca)), true);
    expect(open("localhost", listed("verify-full", &ca)), true);
    rejected(open("127.0.0.1", listed("verify-full", &ca)), "for another host");
    rejected(open("localhost", listed("verify-full", &other)), "trusted authority");
    rejected(open("localhost", listed("verify-ca", &other)), "trusted authority");
    rejected(open("localhost", listed("require", &other)), "trusted authority");
    rejected(open("localhost", "sslrootcert=system".to_owned()), "trusted authority");
    rejected(open("localhost", plain("verify-full")), "sslrootcert");
    // The other kind of connection is tried where the mode allows both.
    admit(&server, "hostssl all all all trust\nhostnossl all all all reject");
    expect(open("localhost", plain("allow")), true);
    rejected(open("localhost", plain("disable")), "pg_hba.conf");
    admit(&server, "hostssl all all all reject\nhostnossl all all all trust");
    expect(open("localhost", plain("prefer")), false);
    rejected(open("localhost", plain("require")), "pg_hba.conf");

    let without = Server::start();
    without.database("d");
    let url = format!("postgres://seconder@localhost:{}/d?sslmode=require", without.port());
    rejected(settings(&without, &url).open(), "has no TLS");
}
