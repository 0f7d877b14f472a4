//! Durable verifications by many threads: the engine, and what its database can do at best and at
//! worst, for `make bench`.
//!
//! - `stores keyring FILE` makes a keyring, which a server's database needs first.
//! - `stores prepare URL KEYRING THREADS` enrols users with authenticator apps, and prints their
//!   secrets.
//! - `stores engine URL KEYRING ROUND THREADS TURNS` verifies right codes of those users, whose secrets
//!   it reads from its standard input; each round with the same database is later than the one before.
//! - `stores loop URL THREADS TURNS` reads and writes the same rows, in a transaction for each
//!   verification.
//! - `stores group URL THREADS TURNS` writes one row for each, of many threads in one transaction.
//! - `stores postgres` runs a server, and prints the URLs of its databases.
//!
//! `engine`, `loop` and `group` print the time and the processor time of a turn, in nanoseconds.

#![allow(
    clippy::disallowed_methods,
    reason = "the peers need threads and the time, and a login process does not load them"
)]

#[path = "stores/postgres.rs"]
mod postgres;
#[path = "../tests/postgres/server.rs"]
#[allow(clippy::unwrap_used, reason = "a panic ends the benchmark")]
mod server;
#[path = "stores/sqlite.rs"]
mod sqlite;

use rustix::time::{ClockId, clock_gettime};
use seconder::calls::{CreateUser, EnrolAuthenticator};
use seconder::engine::{Clock, Message};
use seconder::keyring::Keyring;
use seconder::model::UserId;
use seconder::otp::Totp;
use seconder::{Handle, Service, Settings, Verdict, Verify};
use std::error::Error;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

type Failure = Box<dyn Error + Send + Sync>;

/// How many users each thread verifies in turn. The clock moves by a step between their turns.
const USERS: usize = 32;
const STEP: u64 = 30;
/// How much later a round is than the one before, in seconds.
const ROUND: u64 = 1_000_000;

fn main() -> Result<(), Failure> {
    // Cargo adds an argument of its own.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let printed = match arguments.as_slice() {
        ["prepare", url, keyring, threads] => prepare(url, keyring, threads.parse()?)?,
        ["engine", url, keyring, round, threads, turns] => {
            let mut secrets = String::new();
            std::io::stdin().read_to_string(&mut secrets)?;
            let clock = now()?;
            clock.0.fetch_add(round.parse::<u64>()? * ROUND, Ordering::Relaxed);
            engine(open(url, keyring, &clock)?, &clock, &secrets, threads.parse()?, turns.parse()?)?
        }
        ["loop", url, threads, turns] => transactions(url, threads.parse()?, turns.parse()?)?,
        ["group", url, threads, turns] => group(url, threads.parse()?, turns.parse()?)?,
        ["postgres"] => return serve(),
        ["keyring", file] => return Ok(Keyring::at(*file).create()?),
        _ => return Err("usage: stores prepare|engine|loop|group …, see stores.rs".into()),
    };
    writeln!(std::io::stdout(), "{printed}")?;
    Ok(())
}

/// A clock that the threads move on.
#[derive(Clone)]
struct Moved(Arc<AtomicU64>);

impl Clock for Moved {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

fn open(url: &str, keyring: &str, clock: &Moved) -> Result<Service, Failure> {
    let settings = Settings::new(url).clock(clock.clone()).keyring(keyring);
    Ok(settings.deliver(|_: &Message| Ok(())).open()?)
}

fn now() -> Result<Moved, Failure> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    Ok(Moved(Arc::new(AtomicU64::new(since.as_secs()))))
}

fn prepare(url: &str, keyring: &str, threads: usize) -> Result<String, Failure> {
    let service = open(url, keyring, &now()?)?;
    let made = Mutex::new(Vec::new());
    // Enough of them that they share commits.
    each_of(16, |thread| {
        for number in (0..threads * USERS).filter(|number| number % 16 == thread) {
            let phone = format!("212555{number:04}").parse()?;
            let call = CreateUser::new("ada@example.com".parse()?, phone, "1".parse()?);
            let user_id = service.handle(&call)?.user_id;
            let enrolled = service.handle(&EnrolAuthenticator::new(user_id))?;
            let line = format!("{user_id} {}", enrolled.uri.expose());
            made.lock().map_err(|_| "a thread panicked")?.push(line);
        }
        Ok(())
    })?;
    Ok(made.into_inner()?.join("\n"))
}

/// Runs this work on so many threads.
fn each_of(
    threads: usize,
    work: impl Fn(usize) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn({
                    let work = &work;
                    move || work(thread)
                })
            })
            .collect();
        running.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })
}

/// Measures so many turns of each of these threads.
fn measured(
    threads: usize,
    turns: usize,
    work: impl Fn(usize) -> Result<(), Failure> + Sync,
) -> Result<String, Failure> {
    let cpu = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let (start, before) = (Instant::now(), cpu());
    each_of(threads, work)?;
    let all = (threads * turns) as f64;
    let (time, cpu) = (start.elapsed().as_nanos() as f64 / all, (cpu() - before) / all);
    Ok(format!("{{\"time\": {time}, \"cpu\": {cpu}}}"))
}

fn engine(
    service: Service,
    clock: &Moved,
    secrets: &str,
    threads: usize,
    turns: usize,
) -> Result<String, Failure> {
    let apps: Vec<(UserId, Totp)> = secrets.lines().map(app).collect::<Result<_, _>>()?;
    let turn_of_all = Barrier::new(threads);
    measured(threads, turns, |thread| {
        let own = &apps[thread * USERS..(thread + 1) * USERS];
        for turn in 0..turns {
            if turn % USERS == 0 {
                if turn_of_all.wait().is_leader() {
                    clock.0.fetch_add(STEP, Ordering::Relaxed);
                }
                turn_of_all.wait();
            }
            let (user_id, totp) = &own[turn % USERS];
            let code = totp.code(clock.0.load(Ordering::Relaxed));
            let call = Verify::new(*user_id, code.expose().parse()?);
            let verification = service.handle(&call)?;
            if verification.verdict != Verdict::Right {
                return Err(format!("a right code is {:?}", verification.verdict).into());
            }
        }
        Ok(())
    })
}

fn app(line: &str) -> Result<(UserId, Totp), Failure> {
    let (user_id, uri) = line.split_once(' ').ok_or("a line is a user's id and a URI")?;
    Ok((user_id.parse()?, Totp::from_uri(uri)?))
}

/// What a record of a verification says.
const WRITTEN: &str = "verify right authenticator +1-XXX-XXX-0123";

/// A database of a peer, as one thread uses it.
trait Database: Send {
    /// A transaction with the rows that the engine reads and writes for a verification.
    fn verify(&mut self, user: i64) -> Result<(), Failure>;
    /// One row for each of these numbers, in one transaction.
    fn write(&mut self, numbers: &[i64]) -> Result<(), Failure>;
}

fn database(url: &str) -> Result<Box<dyn Database>, Failure> {
    Ok(match url.strip_prefix("sqlite:") {
        Some(file) => Box::new(sqlite::Peer::open(file)?),
        None => Box::new(postgres::Peer::open(url)?),
    })
}

/// A transaction for each verification.
fn transactions(url: &str, threads: usize, turns: usize) -> Result<String, Failure> {
    // SQLite has one writer at a time, and a server has a connection for each thread.
    let connections = if url.starts_with("sqlite:") { 1 } else { threads };
    let databases: Vec<_> =
        (0..connections).map(|_| Ok(Mutex::new(database(url)?))).collect::<Result<_, Failure>>()?;
    measured(threads, turns, |thread| {
        for turn in 0..turns {
            let user = (thread * USERS + turn % USERS + 1) as i64;
            let database = databases[thread % connections].lock();
            database.map_err(|_| "a thread panicked")?.verify(user)?;
        }
        Ok(())
    })
}

/// One row for each turn. A thread of its own writes what all the others wait for.
fn group(url: &str, threads: usize, turns: usize) -> Result<String, Failure> {
    type Turn = (i64, Sender<()>);
    let mut database = database(url)?;
    let (given, taken): (Sender<Turn>, Receiver<Turn>) = channel();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || -> Result<(), Failure> {
            while let Ok(first) = taken.recv() {
                let batch: Vec<Turn> = std::iter::once(first).chain(taken.try_iter()).collect();
                let numbers: Vec<i64> = batch.iter().map(|(number, _)| *number).collect();
                database.write(&numbers)?;
                for (_, done) in batch {
                    // A thread that has failed does not wait for it.
                    let _ = done.send(());
                }
            }
            Ok(())
        });
        let printed = measured(threads, turns, |thread| {
            let (given, (done, is_done)) = (given.clone(), channel());
            for turn in 0..turns {
                given.send(((thread * turns + turn) as i64, done.clone()))?;
                is_done.recv()?;
            }
            Ok(())
        });
        drop(given);
        writer.join().map_err(|_| "the writer panicked")??;
        printed
    })
}

/// Runs a PostgreSQL server until the standard input ends, and prints the URLs of a few databases.
fn serve() -> Result<(), Failure> {
    let server = server::Server::with(&["max_connections=100"]);
    for name in ["one", "eight", "many"] {
        writeln!(std::io::stdout(), "{}", server.database(name))?;
    }
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}
