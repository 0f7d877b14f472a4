//! Offline logins of several processes, some of which are killed.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

#[path = "offline/world.rs"]
mod world;

use seconder::model::{Token, UserId};
use seconder_login::offline::{Limits, Offline, OfflineVerdict, Problem, system_random};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use world::{MACHINE, SERVICE, START, World, accepted};

/// A process that checks each code at its time, and prints the times of those that were accepted.
fn start(world: &World, codes: &[u64]) -> Running {
    let codes: Vec<String> =
        codes.iter().map(|at| format!("{at}:{}", world.code(*at).as_str())).collect();
    let work = format!("{}\n{}\n{}\n", world.path().display(), world.user, codes.join(" "));
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_child", "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(work.as_bytes()).unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("ready") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the child ended early");
    }
    Running { child, out }
}

struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Running {
    fn go(&mut self) {
        self.child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }

    /// The time of the first code that was accepted.
    fn first(&mut self) -> u64 {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        accepted_at(&line).unwrap()
    }

    /// The times at which codes were accepted.
    fn results(mut self) -> Vec<u64> {
        let lines = self.out.lines().map_while(Result::ok);
        let found = lines.filter_map(|line| accepted_at(&line)).collect();
        self.child.wait().unwrap();
        found
    }
}

fn accepted_at(line: &str) -> Option<u64> {
    line.split_once("accepted ").map(|(_, at)| at.trim().parse().unwrap())
}

#[test]
#[ignore = "run by the other tests, in processes of their own"]
fn a_child() {
    let mut lines = std::io::stdin().lock().lines().map(Result::unwrap);
    let folder = lines.next().unwrap();
    let user: UserId = lines.next().unwrap().parse().unwrap();
    let codes = lines.next().unwrap();
    let limits = Limits { days: 3, logins: 100 };
    let offline =
        Offline::open(Path::new(&folder), SERVICE, MACHINE, limits, system_random).unwrap();
    println!("ready");
    std::io::stdout().flush().unwrap();
    // All begin at the same time.
    assert_eq!(lines.next().unwrap(), "go");
    for code in codes.split(' ') {
        let (at, code) = code.split_once(':').unwrap();
        let (at, code): (u64, Token) = (at.parse().unwrap(), code.parse().unwrap());
        let verdict = offline.check(user, &code, at);
        assert!(
            !matches!(verdict, OfflineVerdict::Refused(Problem::Damaged | Problem::Storage(_))),
            "{verdict:?}"
        );
        if accepted(&verdict) {
            println!("accepted {at}");
            std::io::stdout().flush().unwrap();
        }
    }
}

#[test]
fn of_two_logins_at_once_with_one_code_one_is_accepted() {
    let world = World::new();
    let _offline = world.prepared();
    for round in 0..8 {
        let at = START + 600 + round * 60;
        let mut children: Vec<Running> = (0..4).map(|_| start(&world, &[at])).collect();
        children.iter_mut().for_each(Running::go);
        let accepted: Vec<u64> = children.into_iter().flat_map(Running::results).collect();
        assert_eq!(accepted, [at]);
    }
}

#[test]
fn a_kill_makes_no_code_valid_again() {
    let world = World::small();
    let offline = world.prepared();
    let mut seen = BTreeSet::new();
    let mut at = START + 600;
    for round in 0..12_u64 {
        // At most 96 in all rounds: a report has 100.
        let times: Vec<u64> = (0..8).map(|step| at + step * 60).collect();
        let mut child = start(&world, &times);
        child.go();
        // It is killed at some moment after the first login.
        let first = child.first();
        std::thread::sleep(Duration::from_micros(round * 700));
        child.child.kill().unwrap();
        for accepted in std::iter::once(first).chain(child.results()) {
            assert!(seen.insert(accepted), "{accepted} was accepted twice");
        }
        // The cache is whole, and holds every login that was acknowledged.
        let reports = offline.reports(world.user).unwrap();
        let reported: BTreeSet<u64> =
            reports.iter().flat_map(|r| &r.logins).map(|login| login.time).collect();
        assert!(seen.is_subset(&reported), "{seen:?} {reported:?}");
        if let Some(last) = reported.last().copied() {
            assert!(!accepted(&offline.check(world.user, &world.code(last), last)));
            at = last + 60;
        }
        offline.used_online(world.user, &"7654321".parse().unwrap(), at).unwrap();
    }
    assert!(seen.len() >= 12);
}
