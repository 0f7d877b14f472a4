//! The program of `users=command:`, which prints the service's user of a login name.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use seconder::model::UserId;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The output of the program for a user that it does not know.
const NOBODY: &str = "none";
/// The most bytes that the program may print.
const LONGEST_OUTPUT: usize = 64;
/// The interval at which the program is polled for its end, once it has closed its output.
const INTERVAL: Duration = Duration::from_millis(2);
/// The time that a killed program may take to end.
const DYING: Duration = Duration::from_secs(2);

/// Runs a program for a login, and returns the id that it prints for a login name; `None` if it prints `none`. The error
/// is the reason why there is no result.
pub type RunCommand =
    fn(program: &Path, login: &str, timeout: Duration) -> Result<Option<UserId>, String>;

/// Runs the program, and returns the id that it prints for a login name; `None` if it prints `none`.
///
/// # Errors
/// The reason why there is no result.
pub fn run_command(
    program: &Path,
    login: &str,
    timeout: Duration,
) -> Result<Option<UserId>, String> {
    run_prepared(program, login, timeout, |_| {})
}

/// Runs the program as [`run_command`] does, after `prepare` has changed how it starts: for a process with descriptors
/// that it would inherit, which only unsafe code can close.
///
/// The program gets nothing but the name: no environment, no input, a process group of its own. Its status is not known
/// where the host process ignores SIGCHLD or reaps every child itself. Its output then decides alone, and so must be a
/// whole line in any case: a user who may lower the limits of a process, or end the program, must not count as unknown.
///
/// # Errors
/// The reason why there is no result.
pub fn run_prepared(
    program: &Path,
    login: &str,
    timeout: Duration,
    prepare: fn(&mut Command),
) -> Result<Option<UserId>, String> {
    let mut command = Command::new(program);
    command
        .arg(login)
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    prepare(&mut command);
    let began = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("cannot be run: {error}"))?;
    let output = match child.stdout.take() {
        Some(stdout) => read(stdout, began, timeout),
        None => Err("has no output".into()),
    };
    let ended = output.and_then(|output| {
        wait(&mut child, began, timeout)?;
        Ok(output)
    });
    if ended.is_err() {
        kill(&mut child);
    }
    parse(&ended?)
}

/// Reads until the program closes its output.
fn read(mut stdout: ChildStdout, began: Instant, timeout: Duration) -> Result<Vec<u8>, String> {
    let mut output = Vec::new();
    loop {
        let left = timeout.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(too_long(timeout));
        }
        let mut descriptors = [PollFd::new(&stdout, PollFlags::IN)];
        let time = Timespec::try_from(left).map_err(|_| too_long(timeout))?;
        match poll(&mut descriptors, Some(&time)) {
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) => {}
            Err(errno) => return Err(format!("cannot be waited for: {errno}")),
        }
        let mut chunk = [0; LONGEST_OUTPUT + 1];
        match stdout.read(&mut chunk) {
            Ok(0) => return Ok(output),
            Ok(read) => output.extend_from_slice(&chunk[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("cannot be read: {error}")),
        }
        if output.len() > LONGEST_OUTPUT {
            return Err(format!("printed more than {LONGEST_OUTPUT} bytes"));
        }
    }
}

/// Waits until the program has ended. It is an error if it failed.
fn wait(child: &mut Child, began: Instant, timeout: Duration) -> Result<(), String> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("failed: {status}")),
            Ok(None) => {}
            // Another part of the process has reaped it, or SIGCHLD is ignored.
            Err(error) if error.raw_os_error() == Some(Errno::CHILD.raw_os_error()) => {
                return Ok(());
            }
            Err(error) => return Err(format!("cannot be waited for: {error}")),
        }
        if began.elapsed() >= timeout {
            return Err(too_long(timeout));
        }
        std::thread::sleep(INTERVAL);
    }
}

/// Ends the program, and the processes that it started in its process group. As long as its status
/// has not been taken, nothing else can have its number.
fn kill(child: &mut Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let Some(pid) = pid else { return };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if waitid(WaitId::Pid(pid), options).is_err() {
        return;
    }
    let _ = kill_process_group(pid, Signal::KILL);
    let began = Instant::now();
    while let Ok(None) = child.try_wait() {
        if began.elapsed() >= DYING {
            return;
        }
        std::thread::sleep(INTERVAL);
    }
}

fn parse(output: &[u8]) -> Result<Option<UserId>, String> {
    let line = output.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
    if line == Some(NOBODY) {
        return Ok(None);
    }
    let printed = if output.is_empty() { "printed nothing: it " } else { "" };
    line.and_then(|line| line.parse().ok()).map(Some).ok_or_else(|| {
        format!("{printed}must print the id of a user, or {NOBODY}, and a line feed")
    })
}

fn too_long(timeout: Duration) -> String {
    format!("was killed: it ran longer than {} s", timeout.as_secs())
}
