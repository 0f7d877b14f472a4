//! Remembered browsers where more than one call matters: altered and copied tokens, other users and
//! applications, the clock, races, and what is stored.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ManualClock, ada, open, open_at, url};
use crate::sealed::{self, Of, ring_of};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use proptest::prelude::*;
use seconder::calls::{Recognition, Remember};
use seconder::model::{BrowserToken, UserId};
use seconder::{CallOutcome, CallRecord, Handle, Service, Settings};
use sha2::Sha256;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};

const NOW: u64 = 1_786_924_800;
const A_DAY: u64 = 86_400;

fn recognises(service: &Service, user: UserId, token: &str) -> bool {
    service.recognise(user, &BrowserToken::from(token)).unwrap() == Recognition::Recognised
}

fn remember(service: &Service, user: UserId) -> String {
    service.remember(user).unwrap().token.as_str().to_owned()
}

fn ben(service: &Service) -> UserId {
    service.create_user("ben@example.com", "555-010-0124", "1").unwrap().user_id
}

/// Runs SQL on the database of a service that is closed.
fn change(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn stored(db: &rusqlite::Connection, sql: &str) -> Vec<u8> {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn number(path: &Path, sql: &str) -> i64 {
    let db = rusqlite::Connection::open(path).unwrap();
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn zeroed_memory_means_not_recognised() {
    assert_eq!(Recognition::NotRecognised as u8, 0);
    assert_eq!(Recognition::default(), Recognition::NotRecognised);
}

#[test]
fn a_token_with_any_other_character_is_not_recognised() {
    let service = seconder::open("sandbox:").unwrap();
    let user = ada(&service);
    let token = remember(&service, user);
    assert!(recognises(&service, user, &token) && token.len() == 76);
    for at in 0..token.len() {
        for byte in 0..=u8::MAX {
            let altered = format!("{}{}{}", &token[..at], char::from(byte), &token[at + 1..]);
            assert_eq!(recognises(&service, user, &altered), altered == token, "{altered:?}");
        }
        assert!(!recognises(&service, user, &token[..at]), "cut at {at}");
        let without = format!("{}{}", &token[..at], &token[at + 1..]);
        assert!(!recognises(&service, user, &without), "without {at}");
    }
    for end in ["A", "AAAA", "=", "==", " ", "\n"] {
        assert!(!recognises(&service, user, &format!("{token}{end}")), "{end:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Pieces of two right tokens of one user, and any other text, are no token.
    #[test]
    fn no_other_text_is_recognised(text in ".{0,100}", at in 1..75_usize, more in "[A-Za-z0-9_-]{76}") {
        let service = seconder::open("sandbox:").unwrap();
        let user = ada(&service);
        let [one, two] = [remember(&service, user), remember(&service, user)];
        let mixed = format!("{}{}", &one[..at], &two[at..]);
        let known = mixed == one || mixed == two;
        prop_assert_eq!(recognises(&service, user, &mixed), known);
        prop_assert!(!recognises(&service, user, &text));
        prop_assert!(!recognises(&service, user, &more));
    }
}

#[test]
fn a_token_is_for_its_user_alone_and_goes_with_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let (service, _) = open(&path);
    let (ada, ben) = (ada(&service), ben(&service));
    let token = remember(&service, ada);
    assert!(recognises(&service, ada, &token) && !recognises(&service, ben, &token));
    service.delete_user(ada).unwrap();
    assert!(!recognises(&service, ada, &token));
    drop(service);
    assert_eq!(number(&path, "SELECT count(*) FROM browsers"), 0);
}

/// A second application of the same database, even with the secret and the user of the first.
#[test]
fn a_token_is_for_its_application_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let keyed = |key: &str| Settings::new(&url(&path)).api_key(key).open().unwrap();
    let service = keyed("one");
    let user = ada(&service);
    let token = remember(&service, user);
    drop(service);
    // SHA-256 of "two".
    change(
        &path,
        "CREATE TEMP TABLE copy AS SELECT * FROM applications; \
         UPDATE copy SET app_id = 2; \
         INSERT INTO applications SELECT * FROM copy; \
         INSERT INTO lookups VALUES ('api_key', 0, \
         '3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3', 2)",
    );
    // For each row, its secrets are sealed anew.
    let ring = ring_of(&path);
    let db = rusqlite::Connection::open(&path).unwrap();
    let secret: Vec<u8> = stored(&db, "SELECT secret FROM applications WHERE app_id = 1");
    let secret = sealed::open(&ring, ("applications", "secret"), &[Of::Int(1)], &secret);
    let sealed =
        |column, plain: &[u8]| sealed::seal(&ring, ("applications", column), &[Of::Int(2)], plain);
    db.execute(
        "UPDATE applications SET api_key = ?, secret = ? WHERE app_id = 2",
        (sealed("api_key", b"two"), sealed("secret", &secret)),
    )
    .unwrap();
    drop(db);
    let (one, two) = (keyed("one"), keyed("two"));
    assert!(recognises(&one, user, &token) && !recognises(&two, user, &token));
    two.forget(user, Some(&BrowserToken::from(token.as_str()))).unwrap();
    two.forget(user, None).unwrap_err();
    two.remember(user).unwrap_err();
    assert!(recognises(&one, user, &token));
    drop((one, two));
    change(&path, "UPDATE users SET app_id = 2");
    assert!(!recognises(&keyed("two"), user, &token));
}

/// Signs as the service does, for an attacker who has the secret.
fn forged(secret: &[u8], id: &[u8], user: UserId, expires_at: u64) -> String {
    let signed = [&[1], id, &expires_at.to_be_bytes()].concat();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
    for part in [b"seconder remembered browser\0".as_slice(), &1_i64.to_be_bytes()] {
        mac.update(part);
    }
    mac.update(&user.get().to_be_bytes());
    mac.update(&signed);
    URL_SAFE_NO_PAD.encode([signed, mac.finalize().into_bytes().to_vec()].concat())
}

#[test]
fn a_copied_database_forges_no_token() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let (service, _) = open(&path);
    let user = ada(&service);
    let remembered = service.remember(user).unwrap();
    let token = remembered.token.as_str().to_owned();
    let whole = URL_SAFE_NO_PAD.decode(&token).unwrap();
    drop(service);
    let bytes = std::fs::read(&path).unwrap();
    for part in [&whole[..], &whole[1..17], &whole[25..], token.as_bytes()] {
        assert!(!bytes.windows(part.len()).any(|window| window == part), "a part of the token");
    }
    let db = rusqlite::Connection::open(&path).unwrap();
    let (secret, hash) = (
        stored(&db, "SELECT secret FROM applications"),
        stored(&db, "SELECT id_hash FROM browsers"),
    );
    drop(db);
    // Even with the keyring.
    let column = ("applications", "secret");
    let secret = sealed::open(&ring_of(&path), column, &[Of::Int(1)], &secret);
    let (service, _) = open(&path);
    // The attacker can sign, but does not know an id.
    let end = remembered.expires_at;
    assert_eq!(forged(&secret, &whole[1..17], user, end), token);
    for id in [&hash[..16], &hash[16..], &[0; 16]] {
        assert!(!recognises(&service, user, &forged(&secret, id, user, end)));
    }
    assert!(recognises(&service, user, &token));
}

#[test]
fn tokens_survive_a_restart_and_are_shared_by_handles() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let (service, _) = open(&path);
    let user = ada(&service);
    let [one, two] = [remember(&service, user), remember(&service, user)];
    drop(service);
    let ((service, _), (other, _)) = (open(&path), open(&path));
    assert!(recognises(&service, user, &one) && recognises(&other, user, &one));
    other.forget(user, Some(&BrowserToken::from(one.as_str()))).unwrap();
    assert!(!recognises(&service, user, &one) && recognises(&service, user, &two));
    drop((service, other));
    let (service, _) = open(&path);
    assert!(!recognises(&service, user, &one) && recognises(&service, user, &two));
    service.forget(user, None).unwrap();
    assert!(!recognises(&service, user, &two));
}

#[test]
fn a_browser_that_expired_stays_forgotten_when_the_clock_is_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let (service, _) = open_at(&folder.path().join("test.db"), &clock);
    let (ada, ben) = (ada(&service), ben(&service));
    // Whoever notices first: the browser itself, another one, or one that is forgotten.
    for notices in 0..3 {
        clock.set(NOW);
        let token = remember(&service, ada);
        let other = remember(&service, ben);
        clock.set(NOW + 30 * A_DAY - 1);
        assert!(recognises(&service, ada, &token));
        clock.set(NOW + 30 * A_DAY);
        match notices {
            0 => assert!(!recognises(&service, ada, &token)),
            1 => drop(remember(&service, ben)),
            _ => drop(service.forget(ben, Some(&BrowserToken::from(other.as_str()))).unwrap()),
        }
        clock.set(NOW + A_DAY);
        assert!(!recognises(&service, ada, &token), "{notices}");
    }
    // One that was remembered while the clock was wrong lives for its days, and no longer.
    clock.set(NOW + 365 * A_DAY);
    let token = remember(&service, ada);
    for time in [365 * A_DAY - 60, A_DAY, 31 * A_DAY - 1] {
        clock.set(NOW + time);
        assert!(recognises(&service, ada, &token), "{time}");
    }
    for time in [31 * A_DAY, A_DAY, 365 * A_DAY] {
        clock.set(NOW + time);
        assert!(!recognises(&service, ada, &token), "{time}");
    }
}

#[test]
fn a_token_does_not_live_longer_when_it_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let (service, _) = open_at(&folder.path().join("test.db"), &clock);
    let user = ada(&service);
    let call = Remember { days: Some(2), ..Remember::new(user) };
    let remembered = service.handle(&call).unwrap();
    assert_eq!(remembered.expires_at, NOW + 2 * A_DAY);
    for hour in 0..48 {
        clock.set(NOW + hour * 3600);
        assert!(recognises(&service, user, remembered.token.as_str()));
    }
    clock.set(NOW + 2 * A_DAY);
    assert!(!recognises(&service, user, remembered.token.as_str()));
}

#[test]
fn the_oldest_of_more_than_20_browsers_is_forgotten() {
    let service = seconder::open("sandbox:").unwrap();
    let (ada, ben) = (ada(&service), ben(&service));
    let his = remember(&service, ben);
    let tokens: Vec<String> = (0..22).map(|_| remember(&service, ada)).collect();
    let known: Vec<bool> = tokens.iter().map(|token| recognises(&service, ada, token)).collect();
    assert_eq!(known, [vec![false; 2], vec![true; 20]].concat());
    assert!(recognises(&service, ben, &his));
}

/// No login waits for the deletion of them all, and calls delete more than they can add.
#[test]
fn expired_browsers_of_others_go_with_calls_some_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let (service, _) = open(&path);
    let user = ada(&service);
    drop(service);
    change(
        &path,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) \
         INSERT INTO browsers (user_id, id_hash, number, created_at, expires_at) \
         SELECT 2, randomblob(32), i, 0, 1 FROM n",
    );
    let left = || number(&path, "SELECT count(*) FROM browsers WHERE user_id = 2");
    let (service, _) = open(&path);
    remember(&service, user);
    assert!(left() >= 300 - 128, "{}", left());
    for _ in 0..100 {
        remember(&service, user);
    }
    assert_eq!(left(), 0);
}

#[test]
fn no_more_than_20_are_remembered_when_64_threads_race() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let ((service, _), (second, _)) = (open(&path), open(&path));
    let user = ada(&service);
    let start = Barrier::new(64);
    let tokens: Vec<String> = std::thread::scope(|scope| {
        let begin = |number: usize| {
            let service = if number.is_multiple_of(2) { &service } else { &second };
            let start = &start;
            scope.spawn(move || {
                start.wait();
                remember(service, user)
            })
        };
        let threads: Vec<_> = (0..64).map(begin).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let known = tokens.iter().filter(|token| recognises(&second, user, token)).count();
    assert_eq!(known, 20);
}

/// Once `forget` has returned, nobody recognises the browser, whichever handle was asked.
#[test]
fn a_browser_is_not_recognised_after_it_was_forgotten_however_calls_race() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let ((service, _), (second, _)) = (open(&path), open(&path));
    let user = ada(&service);
    for all in [false, true, false, true] {
        let token = BrowserToken::from(remember(&service, user).as_str());
        let (start, forgotten) = (Barrier::new(9), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for number in 0..8 {
                let service = if number % 2 == 0 { &service } else { &second };
                let (start, forgotten, token) = (&start, &forgotten, &token);
                scope.spawn(move || {
                    start.wait();
                    loop {
                        let late = forgotten.load(Ordering::SeqCst);
                        let found = service.recognise(user, token).unwrap();
                        if late {
                            assert_eq!(found, Recognition::NotRecognised);
                            return;
                        }
                    }
                });
            }
            start.wait();
            service.forget(user, (!all).then_some(&token)).unwrap();
            forgotten.store(true, Ordering::SeqCst);
        });
    }
}

#[test]
fn a_browser_is_no_code_and_its_token_is_not_logged() {
    let records: Arc<Mutex<Vec<CallRecord>>> = Arc::default();
    let keep = Arc::clone(&records);
    let service = seconder::open("sandbox:?accept=right").unwrap();
    let service = service.with_log(Arc::new(move |record: &CallRecord| {
        keep.lock().unwrap().push(record.clone());
    }));
    let user = ada(&service);
    let token = remember(&service, user);
    assert!(recognises(&service, user, &token) && !recognises(&service, user, "another"));
    assert!(!service.user_status(user).unwrap().confirmed);
    let statistics = service.app_stats().unwrap();
    assert_eq!(statistics.stats.last().unwrap().auths_count, Some(0));
    let records = records.lock().unwrap();
    let of = |at: usize| (records[at].call, records[at].outcome);
    assert_eq!(of(2), ("recognise", CallOutcome::Ok));
    assert_eq!(of(3), ("recognise", CallOutcome::NotRecognised));
    let shown = format!("{records:?}");
    assert!(records.iter().all(|record| !record.to_string().contains(&token)));
    assert!(!shown.contains(&token) && shown.contains("NotRecognised"));
}
