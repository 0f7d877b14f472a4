//! The program of `users=command:`, well-behaved and hostile.

use crate::stage::{Lines, Script, Stage};
use seconder_login::{Login, Outcome, RunCommand, Trouble, log_in_with, run_prepared};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const MISCONFIGURED: Outcome = Outcome::Trouble(Trouble::Configuration);

fn script(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("map");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

/// Logs in with a right code, by a map that is this shell script.
fn log_in(text: &str, more: &str) -> (Outcome, Vec<String>) {
    let (stage, folder) = (Stage::new(), tempfile::tempdir().unwrap());
    let program = script(folder.path(), text);
    let code = stage.code();
    let more = format!("users = command:{}\n{more}", program.display());
    let ended = stage.log_in(&more, &mut Script::of(&[&code]));
    (ended.outcome, ended.errors)
}

#[test]
fn a_program_says_which_user_a_login_name_is() {
    assert_eq!(log_in("[ $# = 1 ] && [ \"$1\" = ada ] && echo 1", "").0, Outcome::Accepted);
    assert_eq!(log_in("echo none", "").0, Outcome::Unenrolled);
    assert_eq!(log_in("echo none", "unenrolled = ignore").0, Outcome::Ignored);
    // It gets no environment, no input and no terminal.
    let checks =
        "[ -z \"$HOME$CARGO_MANIFEST_DIR\" ] && [ -z \"$(cat)\" ] && [ $(pwd) = / ] && echo 1";
    assert_eq!(log_in(checks, "").0, Outcome::Accepted);
}

#[test]
fn a_host_process_may_change_the_program_before_it_is_run() {
    let (stage, folder) = (Stage::new(), tempfile::tempdir().unwrap());
    let program = script(folder.path(), "[ \"$HOOK\" = called ] && echo 1");
    let run: RunCommand = |program, login, timeout| {
        run_prepared(program, login, timeout, |command| {
            command.env("HOOK", "called");
        })
    };
    let login = Login { user: "ada", run_command: Some(run), ..Login::default() };
    let more = format!("users = command:{}", program.display());
    let mut user = Script::of(&[&stage.code()]);
    assert_eq!(stage.log_in_as(&more, &mut user, login).outcome, Outcome::Accepted);
}

/// The library is used in daemons, where programs that it starts would be others' children.
#[test]
fn a_process_that_starts_no_programs_says_so() {
    let (stage, folder) = (Stage::new(), tempfile::tempdir().unwrap());
    let program = script(folder.path(), "touch \"$0\".was-run; echo 1");
    let more = format!("on_trouble = ignore\nusers = command:{}", program.display());
    let (mut user, mut journal) = (Script::of(&[&stage.code()]), Lines::default());
    let login = Login { user: "ada", ..Login::default() };
    let config = stage.config(&more);
    let outcome = log_in_with(&config, &stage.service, &login, &mut user, &mut journal);
    assert_eq!((outcome, user.asked.len()), (MISCONFIGURED, 0));
    assert!(journal.errors[0].contains("starts no programs"), "{:?}", journal.errors);
    // Nor is it run for a program that knows the user.
    let login = Login { user_id: Some(stage.user), ..login };
    let outcome = log_in_with(&config, &stage.service, &login, &mut user, &mut journal);
    assert_eq!(outcome, Outcome::Accepted, "{:?}", journal.errors);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_program_that_fails_hangs_or_prints_something_else_denies() {
    for (text, reason) in [
        ("exit 0", "printed nothing"),
        ("echo", "must print the id"),
        ("printf none", "must print the id"),
        ("echo none; echo none", "must print the id"),
        ("echo none; exit 1", "failed: exit status: 1"),
        ("echo 1; exit 1", "failed: exit status: 1"),
        ("echo 1; kill -9 $$", "failed: signal: 9"),
        ("yes 1", "printed more than 64 bytes"),
        ("printf 1", "must print the id of a user, or none, and a line feed"),
        ("echo 1; echo 1", "must print the id"),
        ("echo ' 1'", "must print the id"),
        ("echo 0", "must print the id"),
        ("echo '1\\0'", "must print the id"),
        ("sleep 60", "was killed: it ran longer than 1 s"),
        ("echo 1; sleep 60 & sleep 60", "was killed: it ran longer than 1 s"),
        ("echo 1; exec >&-; sleep 60", "was killed: it ran longer than 1 s"),
        ("trap '' TERM HUP INT; while :; do :; done", "was killed: it ran longer than 1 s"),
    ] {
        let began = Instant::now();
        let timeout = if reason.contains("longer than 1 s") { 1 } else { 30 };
        let more = format!("command_timeout = {timeout}\non_trouble = ignore\nunenrolled = ignore");
        let (outcome, errors) = log_in(text, &more);
        assert_eq!(outcome, MISCONFIGURED, "{text}");
        assert!(errors[0].contains(reason), "{text}: {errors:?}");
        assert!(began.elapsed().as_secs() < 10, "{text}");
    }
}

#[test]
fn what_a_killed_program_started_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let text = format!("sleep 600 & echo $! > {}; wait", pid.display());
    let began = Instant::now();
    let pid = loop {
        assert_eq!(log_in(&text, "command_timeout = 1").0, MISCONFIGURED);
        // On a busy machine, it may be killed before it has started anything.
        match fs::read_to_string(&pid) {
            Ok(pid) if pid.ends_with('\n') => break pid,
            _ => assert!(began.elapsed().as_secs() < 10, "nothing was started"),
        }
    };
    let stat = format!("/proc/{}/stat", pid.trim());
    let began = Instant::now();
    // A process that nobody has waited for remains as a zombie.
    while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(began.elapsed().as_secs() < 10, "{stat}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_program_that_others_can_write_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let program = script(folder.path(), "echo 1");
    let read = || {
        let text = format!("users = command:{}\n", program.display());
        seconder_login::config::Config::parse(&text, Path::new("/pam.conf"), &[])
    };
    assert!(read().is_ok());
    for mode in [0o775, 0o757, 0o600] {
        fs::set_permissions(&program, Permissions::from_mode(mode)).unwrap();
        assert!(read().is_err(), "{mode:o}");
    }
}

#[test]
fn it_works_where_the_host_process_ignores_sigchld() {
    let run = Command::new("env")
        .arg("--ignore-signal=CHLD")
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "commands::with_sigchld_ignored"])
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && output.contains("1 passed"), "{output}");
}

#[test]
#[ignore = "is run by it_works_where_the_host_process_ignores_sigchld"]
fn with_sigchld_ignored() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    assert_ne!(ignored & (1 << 16), 0, "SIGCHLD is not ignored");
    assert_eq!(log_in("echo 1", "").0, Outcome::Accepted);
    assert_eq!(log_in("echo none", "").0, Outcome::Unenrolled);
    // Whoever ends the program, or leaves it no descriptor, is not somebody whom nobody knows.
    for dies in ["exit 0", "exit 3", "kill -9 $$", "printf none; exit 3"] {
        assert_eq!(log_in(dies, "unenrolled = ignore").0, MISCONFIGURED, "{dies}");
    }
    assert_eq!(log_in("printf 1; exit 3", "").0, MISCONFIGURED);
    assert_eq!(log_in("sleep 60", "command_timeout = 1").0, MISCONFIGURED);
}
