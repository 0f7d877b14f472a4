//! A service that is killed again and again loses no user and no message that it has acknowledged, sends
//! no message after its code died, no message twice unless it counts an attempt as ambiguous, and accepts no
//! code twice, of a message or of an app: on a SQLite file, and on a PostgreSQL database that two nodes share.
//!
//! Of two providers, the first rejects some messages, and both read some and die before they respond. A
//! checker reads what the providers received and what the clients were promised.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::print_stdout, reason = "the figures are read where there are many kills")]
#![allow(clippy::disallowed_methods, reason = "the providers and the clients need threads")]

#[path = "killed/checker.rs"]
mod checker;
#[path = "killed/clients.rs"]
mod clients;
mod node;
#[path = "../../tests/postgres/server.rs"]
mod postgres;
mod provider;

use checker::{CODE_LIFE, check};
use clients::{Kind, Load, Requested, User, is_sent};
use node::Node;
use provider::{DIES, Provider};
use seconder::engine::{Engine, JobEntry, JobState};
use seconder::keyring::Keyring;
use seconder::model::Secret;
use seconder::otp::Totp;
use seconder::{Service, Settings};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a node is killed, once a second. More by SECONDER_KILLS.
const KILLS: usize = 5;
/// How many users there are for each kill: more than codes are requested in a second.
const USERS: usize = 150;
const CLIENTS: usize = 4;
/// All messages are over by then: their codes have expired, and the leases of attempts that were killed.
const PATIENCE: Duration = Duration::from_secs(120);

/// The route that never sends anything.
const NEVER: &str = "never";

fn kills() -> usize {
    std::env::var("SECONDER_KILLS").map_or(KILLS, |kills| kills.parse().unwrap())
}

fn kind(message: &Value) -> Kind {
    Kind::of(message["to"].as_str().unwrap())
}

/// The first two are for the same country. The first of them rejects each third message, and each dies at
/// times. Another country has the third one alone, which rejects everything.
fn providers() -> [Provider; 3] {
    let decide = |rejects: usize, dies: usize| {
        move |before: usize, message: &Value| match kind(message) {
            Kind::UsedUnconfirmed => DIES,
            _ if before % rejects == 1 => 503,
            _ if before % dies == 2 => DIES,
            _ => 200,
        }
    };
    [
        Provider::deciding(decide(3, 10)),
        Provider::deciding(decide(usize::MAX, 7)),
        Provider::start(503),
    ]
}

fn set_routes(engine: &Engine, providers: &[Provider]) {
    let routes = [("first", "+1"), ("second", "+1"), (NEVER, "+44")];
    for (place, ((name, country), provider)) in routes.into_iter().zip(providers).enumerate() {
        let mut settings = provider.settings();
        settings["priority"] = json!(place);
        settings["countries"] = json!([country]);
        settings["workers"] = json!(8);
        settings["timeout"] = json!(2);
        engine.set_route(name, &Secret::new(settings.to_string())).unwrap();
    }
}

fn enrol(service: &Service, count: usize) -> Vec<User> {
    let enrol = |place: usize| {
        let (country, number) = match place % 50 {
            0 => ("44", format!("7911{:06}", 123_000 + place / 50)),
            _ => ("1", format!("2025{place:06}")),
        };
        let id = service.create_user("ada@example.com", &number, country).unwrap().user_id;
        let app = (place % 10 == 3).then(|| service.enrol_authenticator(id).unwrap().uri);
        let app = app.map(|uri| Totp::from_uri(uri.expose()).unwrap());
        User { id, number: format!("+{country}{number}"), app }
    };
    std::thread::scope(|scope| {
        let part = |first: usize| move || (first..count).step_by(CLIENTS).map(enrol).collect();
        let threads: Vec<_> = (0..CLIENTS).map(|first| scope.spawn(part(first))).collect();
        threads.into_iter().flat_map(|thread| -> Vec<User> { thread.join().unwrap() }).collect()
    })
}

/// Kills the nodes in turn while clients request codes, and has a checker look at what was sent.
fn kill_and_check(service: &Service, folder: &Path, nodes: usize, arguments: &[&str]) {
    let engine = service.engine().unwrap();
    let providers = providers();
    set_routes(engine, &providers);
    let users = enrol(service, USERS * kills());
    let limits = format!(
        "number_10_minutes=0 number_day=0 key_rate=0 country_day=0 code_life={}",
        CODE_LIFE.as_secs()
    );
    let mut arguments: Vec<String> = arguments.iter().map(|&argument| argument.into()).collect();
    arguments.extend(["--limit".to_owned(), limits]);
    let mut nodes: Vec<Node> = (0..nodes)
        .map(|place| {
            let folder = folder.join(format!("node_{place}"));
            std::fs::create_dir(&folder).unwrap();
            Node::start(&folder, engine.api_key().expose(), &arguments)
        })
        .collect();
    let load = Load {
        nodes: nodes.iter().map(|node| node.address.clone()).collect(),
        providers: &providers,
        users: Mutex::new(users),
        created: Mutex::default(),
        apps: Mutex::default(),
        stop: AtomicBool::new(false),
    };
    let requests: Vec<Requested> = std::thread::scope(|scope| {
        let load = &load;
        let clients: Vec<_> =
            (0..CLIENTS).map(|first| scope.spawn(move || load.request(first))).collect();
        for kill in 0..kills() {
            std::thread::sleep(Duration::from_secs(1));
            let place = kill % nodes.len();
            nodes[place].kill();
            nodes[place].start_again();
        }
        load.stop.store(true, Ordering::Relaxed);
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    wait_until_over(&requests, &providers, engine);
    nodes.iter_mut().for_each(Node::kill);
    let created = load.created.into_inner().unwrap();
    assert!(!created.is_empty(), "no user was created");
    for user in created {
        service.user_status(user).unwrap();
    }
    let apps = load.apps.into_inner().unwrap();
    let figures = check(&requests, apps, &providers, engine);
    println!("nodes={} kills={} {figures}", nodes.len(), kills());
    assert!(figures.show_something(), "{figures}");
}

/// Those whose attempt was killed follow when their leases are over, and those whose code was used are
/// given up. What a provider has received already is attempted until its code expires, which takes too
/// long. That an attempt is ambiguous does not mean that: it may have been killed before it sent anything.
fn wait_until_over(requests: &[Requested], providers: &[Provider], engine: &Engine) {
    let started = Instant::now();
    let used: BTreeSet<u64> =
        requests.iter().filter(|of| of.used.is_some()).map(|of| of.user.id.get()).collect();
    let users: BTreeMap<&str, u64> =
        requests.iter().map(|of| (of.user.number.as_str(), of.user.id.get())).collect();
    let can_be_sent = |job: &JobEntry| job.route != NEVER;
    loop {
        let received = providers.iter().flat_map(Provider::log).filter(is_sent);
        let received: BTreeSet<u64> = received
            .filter_map(|one| users.get(one.body["to"].as_str().unwrap()).copied())
            .collect();
        let is_awaited = |job: &JobEntry| match (job.state, job.user_id) {
            (JobState::Leased, _) => true,
            (JobState::Waiting, Some(user)) => used.contains(&user) || !received.contains(&user),
            _ => false,
        };
        let jobs = checker::jobs(engine).into_values();
        let left = jobs.filter(|job| can_be_sent(job) && is_awaited(job)).count();
        if left == 0 {
            return;
        }
        assert!(started.elapsed() < PATIENCE, "{left} messages are not over");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn every_message_that_was_acknowledged_is_sent_and_none_twice_with_different_ids() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("seconder.db").display());
    let service = seconder::open(&url).unwrap();
    kill_and_check(&service, folder.path(), 1, &["--database", &url]);
}

#[test]
fn the_same_is_true_of_two_nodes_on_postgresql() {
    let server = postgres::Server::start();
    let url = server.database("killed");
    let folder = tempfile::tempdir().unwrap();
    let ring = folder.path().join("ring");
    Keyring::at(&ring).create().unwrap();
    let service = Settings::new(&url).keyring(&ring).open().unwrap();
    let ring = ring.to_str().unwrap();
    kill_and_check(&service, folder.path(), 2, &["--database", &url, "--keyring", ring]);
}
