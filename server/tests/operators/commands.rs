//! Commands that work on another machine.

use super::World;
use crate::command::run;
use seconder::engine::AuditFilter;
use seconder::engine::operator::{ListAudit, Role};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// The outcome of a command, without what differs from that of its twin: keys, tokens, ids and times,, the name of the
/// operator in the audit and the ids of requests.
fn masked(output: &Output) -> (Option<i32>, String, String) {
    let mask = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        // On the machine of the database, it is the user who runs the command, and there is no request.
        let text = without(&without(&text, " operator=", " \n"), " request_id=", " \n");
        let text = without(&without(&text, "\"operator_name\":", ","), "\"request_id\":", ",");
        let ends = |c: char| c.is_whitespace() || "\",:".contains(c);
        let words = text.split_inclusive(ends).map(|word| match word.trim_end_matches(ends) {
            // Their digits are of no fixed number.
            random if random.len() > 15 && !random.contains('@') => "RANDOM ",
            _ => word,
        });
        let masked: String = words.collect();
        masked.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect::<String>()
    };
    (output.status.code(), mask(&output.stdout), mask(&output.stderr))
}

/// The text without what is from this beginning to the next of these ends.
fn without(text: &str, begins: &str, ends: &str) -> String {
    let mut parts = text.split(begins);
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| &part[part.find(|c| ends.contains(c)).unwrap_or(part.len())..]);
    rest.fold(first, |all, part| all + part)
}

/// A file of users to import: new ones, the same one twice, one who is in conflict with a line and one with the
/// database, and lines that the program or only the service finds wrong.
const USERS: &str = r#"{"id":7001,"email":"eve@example.com","phone":"+15550100126","secret":"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"}
{"id":7001,"email":"eve@example.com","phone":"+15550100126"}
{"id":7001,"email":"dan@example.com","phone":"+15550100126"}
{"id":1,"email":"eve@example.com","phone":"+15550100127"}
{"id":7002,"login":"gil","secret":"GEZDGNBVGY3TQOJQ"}
{"id":7003,"login":"fay"}
{"id":7004,"login":"kim","secret":"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ","last_step":9999999999}
{"id":7005,"phone":"+1555"}
{"login":"lea"}
{"id":7006
"#;

/// Commands for which a service on another machine is enough, in an order in which they find what they are about.
const REMOTE: &[&str] = &[
    "import --dry-run users.jsonl",
    "import users.jsonl",
    "import users.jsonl --on-conflict skip",
    "user show --user 7001",
    "app list",
    "app list --json",
    "app show",
    "app create --name Second",
    "app set --token-length 8",
    "app rotate-key --overlap 1h",
    "app rotate-key --end-overlap",
    "app delete --yes 2",
    "app delete --yes 7",
    "key",
    "user list",
    "user list --json --limit 1",
    "user find ADA@",
    "user find +15550100123 --json --limit 1",
    "user show --login ada",
    "user show --user 9",
    "user activities --user 1",
    "user set-login --user 2 --login bob",
    "user remove-login --login bob",
    "user export --user 2",
    "user lock --user 1",
    "user list --locked",
    "user show --user 1",
    "user set-number --user 1 --number 555-010-0177 --country-code 1 --unverified",
    "user set-number --user 1 --number 555-010-0178 --country-code 1 --code-file code",
    "user set-number --user 9 --number 555-010-0178 --country-code 1 --unverified",
    "user unlock --user 1",
    "user unlock --user 1 --clock",
    "user forget-browsers --user 1",
    "user recovery-codes --user 1",
    "user remove-factor --user 1 --authenticator 7",
    "user remove-factor --user 1 --device 9",
    "user create --email eve@example.com --cellphone 555-010-0129 --country-code 1",
    "user delete --yes --user 3",
    "user delete --yes --user 3",
    "jobs list",
    "jobs status",
    "jobs show 0000000000000001",
    "jobs replay 0000000000000001",
    "jobs cancel 0000000000000001",
    "jobs run --budget 1",
    "route set main gateway=twilio account_sid=AC1 auth_token=secret from=+15550100100",
    "route list",
    "route list --json",
    "route show main",
    "route show main --receipts",
    "route show none",
    "route remove main",
    "route remove main",
    "lookup show",
    "lookup set gateway=twilio account_sid=AC1 auth_token=secret",
    "lookup show",
    "lookup remove",
    "lookup remove",
    "limits",
    "limits tries=3",
    "limits tries=0",
    "approval list",
    "approval cancel 00000000-0000-0000-0000-000000000000",
    "approval evidence 00000000-0000-0000-0000-000000000000",
    "operator list",
    "operator add bob --role support --only-app 1",
    "operator rotate-token bob",
    "operator remove bob",
    "operator remove bob",
    "forward status",
    "forward return --user 1",
    "forward take --user 1",
    "audit --limit 5",
    "audit --limit 1 --json",
    "keyring list",
    "keyring list --values --json",
    "keyring reseal",
    "keyring remove --key 00000000000000aa",
    "maintain",
    "user invite-device --user 1",
];

/// The others need the database and the files of the service.
const HERE: &[&str] = &[
    "serve --self-signed",
    "backup copy.db",
    "restore copy.db",
    "spend-codes --yes",
    "export users.jsonl",
    "keyring rotate",
    "keyring rotate --unused",
    "keyring rotate --to 00000000000000aa",
    "route test main +15550100123",
    "lookup test +15550100123",
    "user register-device --user 1 --type phone",
    "approval respond --uuid 00000000-0000-0000-0000-000000000000 --response deny --device 1",
];

#[test]
fn commands_on_another_machine_print_what_they_print_in_place() {
    let (there, here) = (World::start(), World::start());
    let token = there.token("root", Role::Admin, None);
    let twin = here.token("root", Role::Admin, None);
    here.service.engine().unwrap().operator(&twin).unwrap();
    let file = there.folder().join("token");
    fs::write(&file, token.expose()).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    let open = String::from_utf8(there.remotely(&["user", "list"]).stderr).unwrap();
    assert!(open.contains("chmod 600"), "{open}");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    for world in [&there, &here] {
        fs::write(world.folder().join("users.jsonl"), USERS).unwrap();
        fs::write(world.folder().join("code"), "1234567").unwrap();
    }
    for command in REMOTE {
        let words: Vec<&str> = command.split(' ').collect();
        let (remote, local) = (there.remotely(&words), run(here.folder(), &words));
        assert_eq!(masked(&remote), masked(&local), "{command}");
    }
    for command in HERE {
        let words: Vec<&str> = command.split(' ').collect();
        let refused = there.remotely(&words);
        let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            !refused.status.success() && errors.contains("on the machine of the service"),
            "{command}: {errors}"
        );
    }
    // Not by the socket of this machine, which is asked by default. It reads no code, so it ends with an error.
    let enrol = there.remotely(&["enrol", "--json", "--login", "ada"]);
    assert!(String::from_utf8_lossy(&enrol.stdout).contains("otpauth://"), "{enrol:?}");
    let audit = there.service.operate(&ListAudit::of(&AuditFilter::default(), None, 500)).unwrap();
    let changes =
        audit.entries.iter().filter(|entry| entry.operator_name.as_deref() == Some("root"));
    assert!(changes.count() >= 5);
}

/// The commands that have the options of another machine, by their words.
fn commands(folder: &Path, words: &[String], found: &mut Vec<String>) {
    let arguments: Vec<&str> =
        std::iter::once("help").chain(words.iter().map(String::as_str)).collect();
    let help = String::from_utf8(run(folder, &arguments).stdout).unwrap();
    let Some((_, list)) = help.split_once("\nCommands:\n") else {
        if help.contains("--operator-token-file") {
            found.push(words.join(" "));
        }
        return;
    };
    for line in list.lines().take_while(|line| !line.is_empty()) {
        let name = line.strip_prefix("  ").filter(|line| !line.starts_with(' '));
        let name = name.and_then(|line| line.split(' ').next()).unwrap_or_default();
        if !name.is_empty() && name != "help" {
            commands(folder, &[words, &[name.to_owned()]].concat(), found);
        }
    }
}

#[test]
fn every_command_with_a_database_works_on_another_machine_or_says_that_it_cannot() {
    let folder = tempfile::tempdir().unwrap();
    let mut found = Vec::new();
    commands(folder.path(), &[], &mut found);
    let known = |command: &String| {
        // `call` makes many, `enrol` asks for a code, and `doctor` also looks at the machine where it runs in place.
        let is_special = ["call", "enrol", "doctor"].contains(&command.as_str());
        is_special || [REMOTE, HERE].concat().iter().any(|line| line.starts_with(command.as_str()))
    };
    let unknown: Vec<_> = found.iter().filter(|command| !known(command)).collect();
    assert!(found.len() > 60 && unknown.is_empty(), "{unknown:?}");
}

/// A user, with a home and an own configuration file, in a folder without a database.
struct User {
    home: TempDir,
    file: PathBuf,
}

impl User {
    fn new(folder: &str) -> User {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(folder).join("seconder");
        fs::create_dir_all(&folder).unwrap();
        User { home, file: folder.join("seconder.conf") }
    }

    /// Writes the file, for the owner alone.
    fn has(&self, text: &str) {
        fs::write(&self.file, text).unwrap();
        fs::set_permissions(&self.file, Permissions::from_mode(0o600)).unwrap();
    }

    /// Runs a command, which may know these folders by the names of variables.
    fn runs_with(&self, variables: &[(&str, &str)], words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
        command.env_remove("HOME").env_remove("XDG_CONFIG_HOME").stdin(Stdio::null());
        for (name, folder) in variables {
            command.env(name, self.home.path().join(folder));
        }
        command.current_dir(self.home.path()).args(words).output().unwrap()
    }

    fn runs(&self, words: &[&str]) -> Output {
        self.runs_with(&[("HOME", "")], words)
    }

    /// The message of a command, which must have failed.
    #[track_caller]
    fn fails(&self, words: &[&str]) -> String {
        let output = self.runs(words);
        assert!(!output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

/// The settings of a user with the token of an administrator, which name a service.
fn settings_of(world: &World) -> String {
    let file = world.folder().join("token");
    fs::write(&file, world.token("root", Role::Admin, None).expose()).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let (url, folder) = (world.url(), world.folder().display());
    format!(
        "service = \"{url}\"\noperator_token_file = \"{folder}/token\"\n\
         service_ca_file = \"{folder}/ca.pem\"\n"
    )
}

#[test]
fn the_own_file_of_a_user_names_the_service() {
    let (world, user) = (World::start(), User::new(".config"));
    user.has(&settings_of(&world));
    let list = ["user", "list"];
    let remote = world.remotely(&list);
    assert!(remote.status.success());
    assert_eq!(user.runs(&list), remote);
    assert_eq!(user.runs_with(&[("XDG_CONFIG_HOME", ".config")], &list), remote);
    assert_eq!(user.runs(&["call", "app-details"]).status.code(), Some(0));
    let check = user.runs(&["config", "check", ".config/seconder/seconder.conf"]);
    assert!(check.status.success(), "{check:?}");
    // What says where the service is takes precedence over the file.
    let missing = ["--database", "sqlite:missing.db"];
    fs::write(user.home.path().join("s.conf"), "database = \"sqlite:missing.db\"\n").unwrap();
    for options in [&missing[..], &["--config", "s.conf"], &["--keyring", "missing.db.keys"]] {
        let error = user.fails(&[&list, options].concat());
        assert!(error.contains("does not exist"), "{options:?}: {error}");
    }
    let error = user.fails(&["user", "list", "--service", "https://127.0.0.1:1"]);
    assert!(error.contains("--operator-token-file"), "{error}");
    let error = user.fails(&["call", "app-details", "--url", "unix:/none.sock"]);
    assert!(error.contains("none.sock"), "{error}");
    // One of its settings can be replaced.
    let error = user.fails(&["user", "list", "--operator-token-file", "none.token"]);
    assert!(error.contains("none.token cannot be read"), "{error}");
    // A process without a home has no such file, nor has another home.
    for variables in [&[][..], &[("HOME", "other")], &[("XDG_CONFIG_HOME", "other"), ("HOME", "")]]
    {
        let output = user.runs_with(variables, &list);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("seconder.db does not exist"), "{variables:?}: {error}");
    }
}

#[test]
fn the_own_file_of_a_user_is_private_and_for_remote_commands() {
    let (world, user) = (World::start(), User::new(".config"));
    let settings = settings_of(&world);
    user.has(&settings);
    fs::set_permissions(&user.file, Permissions::from_mode(0o640)).unwrap();
    let check = ["config", "check", ".config/seconder/seconder.conf"];
    for words in [&["user", "list"][..], &["doctor"], &check] {
        let error = user.fails(words);
        assert!(error.contains("`chmod 600 /"), "{error}");
    }
    // Options are read after the file.
    let is_rejected = |command: &str| {
        let words: Vec<&str> = command.split(' ').chain(["--no-such-option"]).collect();
        let error = user.fails(&words);
        assert!(
            error.contains("--no-such-option") != error.contains("chmod 600"),
            "{command}: {error}"
        );
        error.contains("chmod 600")
    };
    for command in HERE.iter().chain(&["enrol"]) {
        assert!(!is_rejected(command), "{command}");
    }
    for command in REMOTE {
        assert!(is_rejected(command), "{command}");
    }
    for (text, problem) in [
        ("names = \"acme\"\n", "the file lacks service"),
        ("service = \"https://127.0.0.1:1\"\n", "service requires operator_token_file"),
        (
            &format!("{settings}database = \"sqlite:a.db\"\n"),
            "database cannot be used with service",
        ),
        (&format!("{settings}servise = 1\n"), "servise is no setting; there is service"),
    ] {
        user.has(text);
        let error = user.fails(&["user", "list"]);
        assert!(
            error.contains(".config/seconder/seconder.conf:") && error.contains(problem),
            "{error}"
        );
    }
    user.has(&settings.replace("/token", "/none"));
    let error = user.fails(&check);
    assert!(error.contains("operator_token_file") && error.contains("cannot be read"), "{error}");
    // Only root can give it to another user.
    user.has(&settings);
    if std::os::unix::fs::chown(&user.file, Some(1), None).is_ok() {
        let error = user.fails(&["user", "list"]);
        assert!(error.contains("must belong to the user who runs this"), "{error}");
    }
}
