//! A walk through what a help desk does for a user, with the program, on a database that a service uses meanwhile.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::command::{error_of, printed};
use crate::postgres_server::Server;
use crate::serving::Running;
use seconder::calls::{Channel, Verify};
use seconder::keyring::Keyring;
use seconder::model::UserId;
use seconder::{Error, Handle, Result, Verdict};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const ADA: &str = "2";

fn call_of(line: &str) -> String {
    let entry: Value = serde_json::from_str(line).unwrap();
    entry["call"].as_str().unwrap().to_owned()
}

/// A service with two users, and the options by which commands open its database.
struct Walk<'a> {
    folder: &'a Path,
    running: Running,
    database: Vec<&'a str>,
}

impl Walk<'_> {
    fn begin<'a>(folder: &'a Path, database: Vec<&'a str>) -> Walk<'a> {
        let key = || printed(folder, &[&["key"], &database[..]].concat());
        let program = Command::new(env!("CARGO_BIN_EXE_seconder"));
        let running = Running::start_by(program, folder, &database, key);
        for (name, number) in [("bob", "202-555-0124"), ("ada", "202-555-0123")] {
            let email = format!("{name}@example.com");
            running.client.create_user(&email, number, "1").unwrap();
        }
        Walk { folder, running, database }
    }

    fn arguments<'a>(&'a self, command: &'a str) -> Vec<&'a str> {
        command.split(' ').chain(self.database.iter().copied()).collect()
    }

    #[track_caller]
    fn run(&self, command: &str) -> String {
        printed(self.folder, &self.arguments(command))
    }

    #[track_caller]
    fn fails(&self, command: &str) -> String {
        error_of(self.folder, &self.arguments(command))
    }

    fn ada(&self) -> UserId {
        ADA.parse().unwrap()
    }

    /// The code in the latest message, which is for a number with these last digits.
    fn code(&self, last: &str) -> String {
        let folder = std::fs::read_dir(self.folder.join("seconder.spool")).unwrap();
        let mut files: Vec<_> = folder.map(|file| file.unwrap().path()).collect();
        files.sort();
        let text = std::fs::read_to_string(files.last().unwrap()).unwrap();
        assert!(text.contains(last), "{text}");
        let mut words = text.split(|c: char| !c.is_ascii_digit());
        words.find(|word| word.len() == 7).unwrap().to_owned()
    }

    fn verify(&self, code: &str) -> Result<Verdict> {
        let call = Verify { force: true, ..Verify::new(self.ada(), code.parse().unwrap()) };
        self.running.client.handle(&call).map(|checked| checked.verdict)
    }

    /// Logs in by a code that is sent to the number with these last digits.
    #[track_caller]
    fn log_in(&self, last: &str) {
        self.running.client.request_sms(self.ada()).unwrap();
        assert_eq!(self.verify(&self.code(last)).unwrap(), Verdict::Right);
    }

    /// Ada is found by what she says on the telephone, and has typed wrong codes.
    fn find_and_unlock(&self) {
        self.log_in("0123");
        self.running.client.request_sms(self.ada()).unwrap();
        let right = self.code("0123");
        let wrong = if right.starts_with('0') { "1111111" } else { "0000000" };
        for _ in 0..4 {
            assert_eq!(self.verify(wrong).unwrap(), Verdict::Wrong);
        }
        assert!(matches!(self.verify(&right), Err(Error::RateLimited { .. })));
        for text in ["ADA@", "0123", "+12025550123", ADA] {
            let found = self.run(&format!("user find {text}"));
            assert!(found.contains("\n2   ada@example.com  +1-XXX-XXX-XX23"), "{found}");
            assert!(found.ends_with("\n1 found"), "{found}");
        }
        let shown = self.run("user show --user 2");
        assert!(shown.contains("\ncodes: wait until ") && shown.contains(", 4 wrong"), "{shown}");
        assert!(shown.contains("\nconfirmed true\n"), "{shown}");
        self.run("user unlock --user 2");
        assert!(!self.run("user show --user 2").contains("wrong"));
        assert_eq!(self.verify(&right).unwrap(), Verdict::Right);
    }

    /// Her phone was stolen.
    fn lock(&self) {
        self.running.client.request_sms(self.ada()).unwrap();
        let former = self.code("0123");
        assert_eq!(self.run("user lock --user 2"), "user 2 is locked");
        assert!(self.run("user show --user 2").contains("\nlocked since 20"));
        assert!(self.run("user list --locked").contains("\n2   ada@example.com"));
        let error = self.verify(&former).unwrap_err().to_string();
        assert!(error.contains("until an operator unlocks"), "{error}");
        self.running.client.request_sms(self.ada()).unwrap_err();
        self.set_number();
        self.run("user unlock --user 2");
        assert!(!self.run("user show --user 2").contains("locked"));
        assert_eq!(self.verify(&former).unwrap(), Verdict::Wrong);
        self.log_in("0188");
    }

    fn set_number(&self) {
        let set = "user set-number --user 2 --country-code 1 --number";
        let taken = self.fails(&format!("{set} 202-555-0124 --unverified"));
        assert!(taken.contains("User was not valid") && taken.contains("phone_number"), "{taken}");
        let neither = self.fails(&format!("{set} 202-555-0188"));
        assert!(neither.contains("--code-file") && neither.contains("--unverified"), "{neither}");
        let given = self.folder.join("code");
        std::fs::write(&given, "1234567\n").unwrap();
        let given = given.display();
        let none = self.fails(&format!("{set} 202-555-0188 --code-file {given}"));
        assert!(none.contains("No pending verification"), "{none}");
        let client = &self.running.client;
        client.start_phone_verification(Channel::Sms, "202-555-0188", "1").unwrap();
        std::fs::write(self.folder.join("code"), self.code("0188")).unwrap();
        let done = self.run(&format!("{set} 202-555-0188 --code-file {given}"));
        assert_eq!(done, "user 2 has a new number");
        let shown = self.run("user show --user 2");
        assert!(shown.contains("\nphone +1 XXX-XXX-0188\nnumber changed 20"), "{shown}");
        assert!(self.run("user find +12025550123").ends_with("no user was found"));
        assert!(self.run("user find +12025550188").contains("\n2   ada@example.com"));
    }

    /// She leaves, and asks for her data.
    fn export_and_delete(&self) {
        let exported: Value = serde_json::from_str(&self.run("user export --user 2")).unwrap();
        assert_eq!(exported["whole_number"], "+12025550188");
        assert_eq!(exported["user"]["email"], "ada@example.com");
        let refused = self.fails("user delete --user 2");
        assert!(refused.contains("yes is required without a terminal"), "{refused}");
        assert_eq!(self.run("user delete --user 2 --yes"), "user 2 is deleted");
        assert!(self.run("user find ada@").ends_with("no user was found"));
        assert!(self.fails("user show --user 2").contains("User not found"));
        let Error::Rejected(gone) = self.verify("1234567").unwrap_err() else { panic!() };
        assert_eq!(gone.status, 404);
        let audit = self.run("audit --user 2 --json");
        let calls: Vec<_> = audit.lines().map(call_of).collect();
        for call in ["user.unlock", "user.lock", "user.set_number", "delete_user"] {
            assert!(calls.iter().any(|noted| noted == call), "{call}: {calls:?}");
        }
        assert!(!audit.contains("5550188") && !audit.contains("5550123"), "{audit}");
    }

    fn walk(self) {
        self.find_and_unlock();
        self.lock();
        self.export_and_delete();
    }
}

#[test]
fn a_help_desk_walks_through_the_life_of_a_user() {
    let folder = tempfile::tempdir().unwrap();
    Walk::begin(folder.path(), Vec::new()).walk();
}

#[test]
fn a_help_desk_walks_through_the_life_of_a_user_on_postgresql() {
    let (folder, server) = (tempfile::tempdir().unwrap(), Server::start());
    let (url, ring) = (server.database("walk"), folder.path().join("ring"));
    Keyring::at(&ring).create().unwrap();
    let options = vec!["--database", &url, "--keyring", ring.to_str().unwrap()];
    Walk::begin(folder.path(), options).walk();
}
