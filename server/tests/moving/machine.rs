//! A folder with a database, in which commands are run.

use seconder::Settings;
use seconder::keyring::Keyring;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

pub(crate) struct Machine {
    folder: TempDir,
    url: String,
    keyring: Option<PathBuf>,
}

impl Machine {
    pub(crate) fn new() -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("seconder.db").display());
        seconder::open(&url).unwrap();
        Machine { folder, url, keyring: None }
    }

    /// A new one with a database on a server, and the files of this one.
    pub(crate) fn on_server(&self, url: &str) -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let keyring = folder.path().join("keyring");
        Keyring::at(&keyring).create().unwrap();
        Settings::new(url).keyring(&keyring).open().unwrap();
        std::os::unix::fs::symlink(self.path("file.jsonl"), folder.path().join("file.jsonl"))
            .unwrap();
        Machine { folder, url: url.to_owned(), keyring: Some(keyring) }
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The objects in the lines of a file.
    pub(crate) fn objects(&self, name: &str) -> Vec<Value> {
        self.read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.arg(arguments[0]).args(["--database", &self.url]);
        if let Some(keyring) = &self.keyring {
            command.arg("--keyring").arg(keyring);
        }
        command.args(&arguments[1..]);
        command
    }

    /// Runs a command as a reader of a document does.
    pub(crate) fn shell(&self, command: &str) -> Output {
        let program = Path::new(env!("CARGO_BIN_EXE_seconder")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("bash");
        shell.current_dir(self.folder.path()).env("PATH", path).stdin(Stdio::null());
        shell.args(["-c", command]).output().unwrap()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a command prints, which succeeds.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// What a command prints that fails, and its messages.
    pub(crate) fn fails_with(&self, arguments: &[&str]) -> (String, String) {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    pub(crate) fn fails(&self, arguments: &[&str]) -> String {
        self.fails_with(arguments).1
    }
}
