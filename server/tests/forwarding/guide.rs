//! The commands of docs/migrate.md, with `seconder serve` as it is started there.

use super::NUMBER;
use crate::common::{KEY, World};
use crate::documents;
use seconder::Settings;
use seconder::wire::Names;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const HEADING: &str = "## Move while both services run";

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The words of the command that the section shows, for this test.
fn words(page: &str, old: &str) -> Vec<String> {
    let (_, section) = page.split_once(HEADING).unwrap();
    let command = section.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let command = command
        .replace("\\\n", "")
        .replace("0.0.0.0:443", "127.0.0.1:0")
        .replace("--certificate chain.pem --key key.pem", "--self-signed")
        .replace("https://old.example", old);
    command.split_whitespace().skip(1).map(str::to_owned).collect()
}

#[test]
fn the_commands_of_the_guide_print_what_it_says() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/migrate.md");
    let page = std::fs::read_to_string(page).unwrap();
    let names = Names::new("authy").unwrap().push_path("onetouch").unwrap();
    let old = World::with(|settings| settings.names(names.clone()));
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("old-key"), KEY).unwrap();
    std::fs::copy(old.ca_file(), file("old.pem")).unwrap();
    let mut serve = Command::new(env!("CARGO_BIN_EXE_seconder"));
    serve.current_dir(folder.path()).args(words(&page, &old.server.url()));
    serve.args(["--forward-ca-file", "old.pem", "--log-format=human"]);
    let mut new = Ended(serve.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let log = BufReader::new(new.0.stderr.take().unwrap());
    let mut shown = String::new();
    // The rest is read too, because the pipe would fill up.
    let mut lines = log.lines().map_while(Result::ok);
    let url = lines.find_map(|line| {
        shown += &format!("{line}\n");
        line.split_once("listening on ").map(|(_, url)| url.trim().to_owned())
    });
    let url = url.unwrap_or_else(|| panic!("{shown}"));
    assert!(shown.contains("are forwarded to https://") && !shown.contains(KEY), "{shown}");
    let shell = |command: &str| {
        let program = Path::new(env!("CARGO_BIN_EXE_seconder")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("bash");
        shell.current_dir(folder.path()).env("PATH", path).stdin(Stdio::null());
        let output = shell.args(["-c", command]).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let key = shell("seconder key");
    let client = Settings::new(&url).api_key(key.trim()).names(names);
    let client = client.ca_file(file("seconder-certificate.pem")).open().unwrap();
    let user = client.create_user("ada@example.com", NUMBER, "1").unwrap();
    assert_eq!(user.user_id.get(), 1);
    let steps = documents::steps(&page, HEADING);
    assert_eq!(steps.len(), 3);
    for step in steps {
        assert_eq!(shell(&step.command), step.output, "{}", step.command);
    }
    let wrong = ["--forward", "http://old.example", "--forward-key-file", "old-key"];
    let mut serve = Command::new(env!("CARGO_BIN_EXE_seconder"));
    serve.current_dir(folder.path()).args(["serve", "--self-signed", "--listen", "127.0.0.1:0"]);
    let wrong = serve.args(wrong).output().unwrap();
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("forward must begin with https:"));
}
