//! Runs the demonstrations of docs/delivery.md and docs/sandbox.md as a reader would: each command in turn, in one shell and one
//! folder, and compares what it prints.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "the shell finds its commands by PATH")]

mod documents;

use documents::{Step, steps};
use rustix::process::{Pid, Signal, kill_process_group};
use seconder::http::{SANDBOX_FAULTS, SANDBOX_OPERATIONS};
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);
/// What the script prints after each command, before its exit status.
const MARK: char = '\u{1e}';
/// The ports that the demonstration uses. No system gives them to programs that ask for any.
const PORTS: [u16; 3] = [18081, 18082, 18443];
const SANDBOX_PORT: u16 = 18444;

/// A text in which ids, codes, times and what remains of a code's life are all the same.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_number = bare.chars().all(|c| c.is_ascii_digit());
        let mask = match bare.len() {
            16 if bare.chars().all(|c| c.is_ascii_hexdigit()) => "ID",
            10 if is_number => "TIME",
            7 if is_number => "CODE",
            3 if is_number && masked.ends_with("TIME.") => "",
            _ => bare,
        };
        masked.push_str(mask);
        masked.push_str(&word[bare.len()..]);
    }
    let mask =
        |text: String, minutes| text.replace(&format!("for {minutes} minutes"), "for 10 minutes");
    (5..10).fold(masked, mask)
}

/// A shell, which ends with everything that it started.
struct Shell(Child);

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// What the commands print, and their exit statuses. The first one that fails is the last.
fn run(folder: &Path, steps: &[Step]) -> Vec<(String, String)> {
    let mark = format!("status=$?; printf '{MARK}%s\\n' $status; [ $status = 0 ] || exit\n");
    let script: String = steps.iter().map(|step| format!("{}\n{mark}", step.command)).collect();
    fs::write(folder.join("script"), script).unwrap();
    let (output, errors) = (folder.join("script.output"), folder.join("script.errors"));
    let program = Path::new(env!("CARGO_BIN_EXE_seconder")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let python = root().join("build/venv/bin");
    let mut shell = Command::new("bash");
    shell
        .arg("script")
        .current_dir(folder)
        .env("PATH", format!("{}:{}:{path}", python.display(), program.display()))
        .stdin(Stdio::null())
        .stdout(fs::File::create(&output).unwrap())
        .stderr(fs::File::create(&errors).unwrap())
        .process_group(0);
    let mut shell = Shell(shell.spawn().unwrap());
    let started = Instant::now();
    while shell.0.try_wait().unwrap().is_none() && started.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(shell);
    let text = fs::read_to_string(output).unwrap();
    let errors = fs::read_to_string(errors).unwrap();
    let mut parts = text.split(MARK);
    let mut printed = vec![parts.next().unwrap().to_owned()];
    let mut done = Vec::new();
    for part in parts {
        let (status, next) = part.split_once('\n').unwrap_or((part, ""));
        done.push((printed.pop().unwrap(), status.to_owned()));
        printed.push(next.to_owned());
    }
    let next = steps.get(done.len()).map(|step| &step.command);
    assert!(next.is_none(), "{next:?} was not reached, or does not end:\n{text}\n{errors}");
    done
}

/// A demonstration has ports of its own, which another run of this test may have now.
fn wait_for(ports: &[u16]) {
    let started = Instant::now();
    for port in ports {
        while let Err(error) = TcpListener::bind(("127.0.0.1", *port)) {
            assert!(started.elapsed() < PATIENCE, "port {port}: {error}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

#[test]
#[ignore = "`make test` builds the Python module and runs it"]
fn the_commands_of_the_demonstration_print_what_the_page_says() {
    let page = fs::read_to_string(root().join("docs/delivery.md")).unwrap();
    let steps = steps(&page, "## Try it");
    assert!(steps.len() > 30, "{}", steps.len());
    for port in PORTS {
        assert!(page.contains(&port.to_string()), "{port}");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::copy(root().join("examples/provider.py"), folder.path().join("provider.py")).unwrap();
    wait_for(&PORTS);
    let done = run(folder.path(), &steps);
    assert_printed(&steps, &done);
}

#[track_caller]
fn assert_printed(steps: &[Step], done: &[(String, String)]) {
    let show = |(step, (output, status)): (&Step, &(String, String))| {
        let end = if status == "0" { String::new() } else { format!("exit status {status}\n") };
        format!("$ {}\n{output}{end}", step.command)
    };
    let printed: String = steps.iter().zip(done).map(show).collect();
    let wanted: String =
        steps.iter().map(|step| format!("$ {}\n{}", step.command, step.output)).collect();
    assert_eq!(masked(&printed), masked(&wanted), "it printed:\n{printed}");
}

#[test]
fn the_commands_of_the_page_about_the_sandbox_print_what_it_says() {
    let page = fs::read_to_string(root().join("docs/sandbox.md")).unwrap();
    let steps = steps(&page, "## Try it");
    assert!(steps.len() > 15 && page.contains(&SANDBOX_PORT.to_string()), "{}", steps.len());
    let folder = tempfile::tempdir().unwrap();
    wait_for(&[SANDBOX_PORT]);
    let done = run(folder.path(), &steps);
    assert_printed(&steps, &done);
}

/// The paths, parameters and faults that the page lists are those that there are.
#[test]
fn the_page_about_the_sandbox_lists_everything_that_a_test_does_with_it() {
    let page = fs::read_to_string(root().join("docs/sandbox.md")).unwrap();
    let rows = |heading: &str| -> Vec<Vec<String>> {
        let (_, section) = page.split_once(&format!("\n## {heading}\n")).unwrap();
        let table = section.lines().skip_while(|line| !line.starts_with("| `"));
        let rows = table.take_while(|line| line.starts_with("| "));
        rows.map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
    };
    let paths = rows("Paths");
    let listed: Vec<_> = paths.iter().map(|row| row[1].clone()).collect();
    let there: Vec<_> = SANDBOX_OPERATIONS
        .iter()
        .map(|operation| format!("`{} {}`", operation.method, operation.name))
        .collect();
    assert_eq!(listed, there);
    for (row, operation) in paths.iter().zip(SANDBOX_OPERATIONS) {
        let same = row[2] == "the same";
        for param in operation.params.iter().filter(|_| !same) {
            assert!(row[2].contains(&format!("`{param}`")), "{}: {param}", operation.name);
        }
    }
    let mut faults: Vec<_> = rows("Faults").iter().map(|row| row[1].clone()).collect();
    let mut there: Vec<_> = SANDBOX_FAULTS.iter().map(|fault| format!("`{fault}`")).collect();
    faults.sort_unstable();
    there.sort_unstable();
    assert_eq!(faults, there);
}
