//! Concurrency tests: the outcomes that many threads see on one database, also by two handles, can
//! have happened in some order.

use super::linear::{Call, Observed, Presented, State, is_explained};
use super::{Given, Seeded};
use crate::calls::*;
use crate::engine::core::Engine;
use crate::engine::delivery::Message;
use crate::engine::handlers::settings::EngineSettings;
use crate::engine::store::backend::Backend;
use crate::engine::store::{Memory, Sqlite, Store};
use crate::keyring::{Keyring, Ring};
use crate::model::{Token, UserId};
use crate::otp::Totp;
use crate::{Error, Handle, Verdict};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The time at which the calls of a history are made.
pub(super) const NOW: u64 = 1_700_000_010;

/// Returns an engine with a clock that stands still, and the codes that it sends.
pub(super) fn engine(store: Store, clock: &Given, seed: u64) -> (Engine, Arc<Mutex<Vec<String>>>) {
    let sent: Arc<Mutex<Vec<String>>> = Arc::default();
    let keep = Arc::clone(&sent);
    let deliver = move |message: &Message| {
        keep.lock().unwrap().push(message.code.clone());
        Ok(())
    };
    let settings = EngineSettings {
        clock: Arc::new(clock.clone()),
        random: Arc::new(Seeded(AtomicU64::new(seed))),
        ..EngineSettings::default()
    };
    (Engine::open(store, Arc::new(deliver), None, settings).unwrap(), sent)
}

/// Returns the store in a file, which is created if it is missing.
pub(super) fn file(path: &Path) -> Store {
    sealed(Sqlite::open(path, false).unwrap(), path)
}

/// Opens a store whose keyring is next to this file.
pub(super) fn sealed(backend: impl Backend + 'static, path: &Path) -> Store {
    let ring = Ring::open_or_create(Keyring::beside(path)).unwrap();
    Store::sealed(backend, ring, Arc::new(clock(NOW))).unwrap()
}

pub(super) fn clock(seconds: u64) -> Given {
    Given(Arc::new(AtomicU64::new(seconds * 1000)))
}

/// Something that can be used once, or once for each step: the tokens that can be presented, with a
/// wrong one in the first place.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) user: UserId,
    pub(super) tokens: Vec<Token>,
}

/// Two targets for each of so many new users: an authenticator app and a code that was sent.
pub(super) fn targets(
    (engine, sent): &(Engine, Arc<Mutex<Vec<String>>>),
    clock: &Given,
    users: usize,
) -> Vec<Target> {
    // The code that confirms an app is older than all that are presented.
    clock.0.store((NOW - 60) * 1000, Ordering::Relaxed);
    let enrol = |number| {
        let phone = format!("202-555-{number:04}").parse().unwrap();
        let new = CreateUser::new("ada@example.com".parse().unwrap(), phone, "1".parse().unwrap());
        let user = engine.handle(&new).unwrap().user_id;
        let app = engine.handle(&EnrolAuthenticator::new(user)).unwrap();
        let app = Totp::from_uri(app.uri.expose()).unwrap();
        let code = |at: u64| app.code(at).expose().parse::<Token>().unwrap();
        assert_eq!(present(engine, user, &code(NOW - 60)), Observed::Right);
        let shown = [NOW - 30, NOW, NOW + 30].map(code).to_vec();
        Target { user, tokens: [vec![wrong(6, &shown)], shown].concat() }
    };
    let apps: Vec<Target> = (0..users).map(enrol).collect();
    clock.0.store(NOW * 1000, Ordering::Relaxed);
    let send = |app: &Target| {
        let request = RequestSms { force: Some(true), ..RequestSms::new(app.user) };
        engine.handle(&request).unwrap();
        let code: Token = sent.lock().unwrap().pop().unwrap().parse().unwrap();
        Target { user: app.user, tokens: vec![wrong(7, std::slice::from_ref(&code)), code] }
    };
    let codes: Vec<Target> = apps.iter().map(send).collect();
    [apps, codes].concat()
}

/// Returns a token that differs from all of these.
fn wrong(length: usize, right: &[Token]) -> Token {
    let known: Vec<&str> = right.iter().map(Token::as_str).collect();
    let candidates = (0..10).map(|digit: u32| digit.to_string().repeat(length));
    let found = candidates.into_iter().find(|candidate| !known.contains(&candidate.as_str()));
    found.unwrap().parse().unwrap()
}

pub(super) fn present(engine: &Engine, user: UserId, token: &Token) -> Observed {
    let check = Verify::new(user, token.clone());
    match engine.handle(&check) {
        Ok(checked) if checked.verdict == Verdict::Right => Observed::Right,
        Ok(checked) if checked.reused => Observed::Used,
        Ok(_) => Observed::Wrong,
        Err(Error::RateLimited { .. }) => Observed::RateLimited,
        Err(Error::Storage { message }) if message.contains("nothing was changed") => {
            Observed::Nothing
        }
        Err(Error::Storage { .. }) => Observed::Unknown,
        Err(other) => panic!("{other}"),
    }
}

/// Numbers that look random.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((number >> 33) as usize) % end
    }
}

/// The calls about each target.
pub(super) type Histories = BTreeMap<usize, Vec<Call>>;

/// Calls by several threads, shared among these engines.
pub(super) fn record(
    engines: &[Engine],
    targets: &[Target],
    threads: usize,
    seed: u64,
) -> Histories {
    let time = AtomicU64::new(0);
    let histories: Mutex<Histories> = Mutex::default();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (engine, time, histories) = (&engines[thread % engines.len()], &time, &histories);
            scope.spawn(move || {
                let mut numbers = Numbers(seed ^ (thread as u64) << 32);
                for _ in 0..10 {
                    let at = numbers.below(targets.len());
                    let target = &targets[at];
                    // A wrong guess is rare, because after four of them every caller has to wait.
                    let guess = numbers.below(target.tokens.len() * 3);
                    let presented =
                        if guess == 0 { 0 } else { 1 + guess % (target.tokens.len() - 1) };
                    let begun = time.fetch_add(1, Ordering::SeqCst);
                    let seen = present(engine, target.user, &target.tokens[presented]);
                    let ended = time.fetch_add(1, Ordering::SeqCst);
                    let call = Call { presented: presented as Presented, seen, begun, ended };
                    histories.lock().unwrap().entry(at).or_default().push(call);
                }
            });
        }
    });
    histories.into_inner().unwrap()
}

/// Presents every token once more, one after the other, and expects that some order explains all.
pub(super) fn check(engine: &Engine, targets: &[Target], histories: &mut Histories, what: &str) {
    for (at, target) in targets.iter().enumerate() {
        let history = histories.entry(at).or_default();
        let mut time = history.iter().map(|call| call.ended).max().unwrap_or(0);
        // The earliest step first, so that each that was not used is accepted.
        for (presented, token) in target.tokens.iter().enumerate().skip(1) {
            let seen = present(engine, target.user, token);
            assert!(!matches!(seen, Observed::Nothing | Observed::Unknown), "{what}: {seen:?}");
            let (begun, ended) = (time + 1, time + 2);
            time = ended;
            history.push(Call { presented: presented as Presented, seen, begun, ended });
        }
        assert!(is_explained(history, State::default()), "{what}, target {at}: {history:#?}");
    }
}

pub(super) fn explained(round: u64, stores: Vec<Store>, reopen: Option<&dyn Fn() -> Store>) {
    let clock = clock(NOW);
    let seeded = stores.into_iter().zip(round * 2..);
    let mut engines: Vec<_> = seeded.map(|(store, seed)| engine(store, &clock, seed)).collect();
    let all = targets(&engines[0], &clock, 2);
    let handles: Vec<Engine> = engines.iter().map(|(engine, _)| engine.clone()).collect();
    let mut histories = record(&handles, &all, 8, round);
    drop(handles);
    // Acknowledged outcomes are on disk.
    if let Some(reopen) = reopen {
        engines.clear();
        engines.push(engine(reopen(), &clock, round + 1000));
    }
    check(&engines[0].0, &all, &mut histories, &format!("round {round}"));
}

#[test]
fn what_threads_see_of_the_store_in_memory_has_an_order() {
    (0..60).for_each(|round| explained(round, vec![Store::new(Memory::new())], None));
}

#[test]
fn what_threads_see_of_a_file_by_two_handles_has_an_order() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..30 {
        let path = folder.path().join(format!("{round}.db"));
        let handles = (0..1 + round % 2).map(|_| file(&path));
        explained(round, handles.collect(), Some(&|| file(&path)));
    }
}

#[cfg(feature = "postgres")]
#[test]
fn what_threads_see_of_postgresql_by_two_nodes_has_an_order() {
    use super::postgres::server;
    use crate::engine::store::Postgres;
    let folder = tempfile::tempdir().unwrap();
    for round in 0..6 {
        let url = server().database(&format!("threads_{round}"));
        let open = |shard| {
            let node = Postgres::open_shard(
                url.strip_prefix("postgres:").unwrap(),
                false,
                Default::default(),
                shard,
            );
            sealed(node.unwrap(), &folder.path().join(round.to_string()))
        };
        explained(round, vec![open(0), open(1)], Some(&|| open(2)));
    }
}

/// Presents everything after a restore: each step and code may have been used.
fn spent(store: Store) {
    let clock = clock(NOW);
    let opened = engine(store, &clock, 1);
    let all = targets(&opened, &clock, 2);
    opened.0.spend_codes().unwrap();
    for target in &all {
        for token in &target.tokens[1..] {
            assert_eq!(present(&opened.0, target.user, token), Observed::Used);
        }
    }
}

#[test]
fn everything_is_spent_after_a_restore_in_every_store() {
    let folder = tempfile::tempdir().unwrap();
    spent(file(&folder.path().join("seconder.db")));
    #[cfg(feature = "postgres")]
    {
        let url = super::postgres::server().database("spent");
        let rest = url.strip_prefix("postgres:").unwrap();
        let store =
            crate::engine::store::Postgres::open_shard(rest, false, Default::default(), 0).unwrap();
        spent(sealed(store, &folder.path().join("ring")));
    }
}
