//! What `seconder completions` prints, in a shell.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::process::Command;

#[test]
fn bash_completes_commands_and_options() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_seconder"));
    let completions = program.args(["completions", "bash"]).output().unwrap().stdout;
    let file = folder.path().join("seconder");
    std::fs::write(&file, completions).unwrap();
    let script = "source seconder\n\
                  COMP_WORDS=(seconder jobs re); COMP_CWORD=2; _seconder seconder re jobs\n\
                  echo \"${COMPREPLY[@]}\"\n\
                  COMP_WORDS=(seconder serve --metr); COMP_CWORD=2; _seconder seconder --metr serve\n\
                  echo \"${COMPREPLY[@]}\"\n";
    let mut shell = Command::new("bash");
    shell.current_dir(folder.path()).args(["--norc", "-c", script]);
    let output = shell.output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed, "replay\n--metrics\n", "{}", String::from_utf8_lossy(&output.stderr));
}
