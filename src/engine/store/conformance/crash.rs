//! Crash tests: processes share a file and are killed in the middle of their calls. Everything that
//! they acknowledged is there, and no code is accepted twice.

use super::linear::{Call, Observed, Presented};
use super::threads::{
    Histories, NOW, Numbers, Target, check, clock, engine, file, present, targets,
};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const USERS: usize = 60;
const THREADS: u64 = 3;

/// Run by the test below, in several processes, which write their calls to one pipe. A line is written
/// before a call and another after it, so their order is one of time.
#[test]
#[ignore = "runs as the child of another test"]
fn child_that_is_killed() {
    let mut lines = std::io::stdin().lines().map(Result::unwrap);
    let (path, seed) = (lines.next().unwrap(), lines.next().unwrap().parse::<u64>().unwrap());
    let targets: Vec<Target> = lines.map(|line| read(&line)).collect();
    let (engine, _) = engine(file(Path::new(&path)), &clock(NOW), seed);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (engine, targets) = (&engine, &targets);
            scope.spawn(move || {
                let mut numbers = Numbers(seed << 32 | thread);
                for call in 0_u64.. {
                    let at = numbers.below(targets.len());
                    let presented = 1 + numbers.below(targets[at].tokens.len() - 1);
                    let id = (seed * THREADS + thread) << 32 | call;
                    say(&format!("begun {id} {at} {presented}"));
                    let seen = present(engine, targets[at].user, &targets[at].tokens[presented]);
                    say(&format!("ended {id} {seen:?}"));
                }
            });
        }
    });
}

/// Writes a line at once, which is shorter than the size that a pipe takes whole.
fn say(line: &str) {
    let line = format!("\ncall {line}\n");
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
}

fn shown(target: &Target) -> String {
    let tokens: Vec<&str> = target.tokens.iter().map(|token| token.as_str()).collect();
    format!("{} {}", target.user, tokens.join(" "))
}

fn read(line: &str) -> Target {
    let mut words = line.split(' ');
    let user = words.next().unwrap().parse().unwrap();
    Target { user, tokens: words.map(|token| token.parse().unwrap()).collect() }
}

fn child(path: &Path, seed: u64, targets: &[Target], output: &std::io::PipeWriter) -> Child {
    let name = "engine::store::conformance::crash::child_that_is_killed";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(output.try_clone().unwrap())
        .spawn()
        .unwrap();
    let lines: Vec<String> = targets.iter().map(shown).collect();
    let mut input = child.stdin.take().unwrap();
    write!(input, "{}\n{seed}\n{}", path.display(), lines.join("\n")).unwrap();
    child
}

/// Reads the histories from the lines. Calls without an end have an unknown outcome.
fn histories(lines: &[String]) -> Histories {
    let mut found: Histories = BTreeMap::new();
    let mut open: BTreeMap<u64, (usize, Presented, u64)> = BTreeMap::new();
    let calls = lines.iter().filter_map(|line| line.strip_prefix("call "));
    for (time, line) in (0_u64..).zip(calls) {
        let words: Vec<&str> = line.split(' ').collect();
        let id = words[1].parse().unwrap();
        if words[0] == "begun" {
            let at = words[2].parse().unwrap();
            open.insert(id, (at, words[3].parse().unwrap(), time));
            continue;
        }
        let (at, presented, begun) = open.remove(&id).unwrap();
        let seen = match words[2] {
            "Right" => Observed::Right,
            "Used" => Observed::Used,
            // The other process kept the file locked for too long.
            "Unknown" => Observed::Unknown,
            other => panic!("{other}"),
        };
        found.entry(at).or_default().push(Call { presented, seen, begun, ended: time });
    }
    for (at, presented, begun) in open.into_values() {
        let (seen, ended) = (Observed::Unknown, begun);
        found.entry(at).or_default().push(Call { presented, seen, begun, ended });
    }
    found
}

#[test]
fn what_killed_processes_acknowledged_is_there_and_nothing_is_accepted_twice() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..3 {
        let path = folder.path().join(format!("{round}.db"));
        let clock = clock(NOW);
        let opened = engine(file(&path), &clock, round);
        let all = targets(&opened, &clock, USERS);
        drop(opened);
        let (output, input) = std::io::pipe().unwrap();
        let mut children = [1, 2].map(|seed| child(&path, round * 2 + seed, &all, &input));
        drop(input);
        let mut lines = Vec::new();
        let mut output = BufReader::new(output).lines().map(Result::unwrap);
        let mut right = 0;
        // While codes are left, so that they are in the middle of accepting some.
        while right < USERS {
            let line = output.next().expect("the children ended by themselves");
            right += usize::from(line.ends_with(" Right"));
            lines.push(line);
        }
        children[0].kill().unwrap();
        // The other process continues with the rows that the killed one left.
        while right < 2 * USERS {
            let line = output.next().expect("the other child ended by itself");
            right += usize::from(line.ends_with(" Right"));
            lines.push(line);
        }
        children[1].kill().unwrap();
        lines.extend(output);
        for child in &mut children {
            child.wait().unwrap();
        }

        let (reopened, _) = engine(file(&path), &clock, round + 1000);
        check(&reopened, &all, &mut histories(&lines), &format!("round {round}"));
        drop(reopened);
        let db = rusqlite::Connection::open(&path).unwrap();
        let sound = db.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
        assert_eq!(sound.unwrap(), "ok");
    }
}
