//! Commands that root runs on the database of another user.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

const DAEMON: u32 = 1;

/// The owners of a folder and of all that is in it.
fn owners(folder: &Path) -> Vec<(String, u32)> {
    let mut found = vec![(folder.display().to_string(), folder.metadata().unwrap().uid())];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(owners(&path)),
            false => {
                found.push((path.display().to_string(), path.symlink_metadata().unwrap().uid()))
            }
        }
    }
    found
}

/// A machine with a database in the folder `data` of another user.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    /// Returns nothing where the tests do not run as root.
    fn new() -> Option<Machine> {
        if !nix::unistd::geteuid().is_root() {
            return None;
        }
        let machine = Machine { folder: tempfile::tempdir().unwrap() };
        let (folder, data) = (machine.folder.path(), machine.folder.path().join("data"));
        fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
        fs::create_dir(&data).unwrap();
        chown(&data, Some(DAEMON), Some(DAEMON)).unwrap();
        fs::set_permissions(&data, PermissionsExt::from_mode(0o700)).unwrap();
        // The program of the tests is where other users may not be, and init runs it as one of them.
        let program = folder.join("seconder");
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_seconder")).arg(program).status();
        assert!(copied.unwrap().success());
        let database = format!("database={}", machine.url());
        assert!(machine.run(&["init", "--no-input", "self_signed=true", &database]).0);
        Some(machine)
    }

    fn url(&self) -> String {
        format!("sqlite:{}/data/seconder.db", self.folder.path().display())
    }

    fn run(&self, arguments: &[&str]) -> (bool, String) {
        let mut command = Command::new(self.folder.path().join("seconder"));
        command.current_dir(&self.folder).env_remove("SUDO_USER").args(arguments);
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    }

    fn on(&self, command: &[&str], options: &[&str]) -> (bool, String) {
        self.run(&[command, &["--database", &self.url()], options].concat())
    }
}

#[test]
fn commands_of_root_become_the_owner_of_the_database() {
    let Some(machine) = Machine::new() else { return };
    let folder = machine.folder.path();
    let data = folder.join("data");
    let on = |command: &[&str], options: &[&str]| machine.on(command, options);
    // Root's own files are read, and what is written of them is root's.
    fs::write(folder.join("users.jsonl"), "{\"login\":\"ada\"}\n{}\n").unwrap();
    fs::set_permissions(folder.join("users.jsonl"), PermissionsExt::from_mode(0o600)).unwrap();
    let (_, printed) = on(&["import"], &["--report", "report", "users.jsonl"]);
    assert!(printed.contains("created=1 unchanged=0 conflicting=0 bad=1"), "{printed}");
    assert_eq!(folder.join("report").metadata().unwrap().uid(), 0);
    let [backup, export] = ["backup.db", "export.jsonl"].map(|name| data.join(name));
    let [backup, export] = [&backup, &export].map(|path| path.to_str().unwrap());
    for (command, options) in [
        (&["user", "list"][..], &[][..]),
        (&["keyring", "rotate"], &[]),
        (&["keyring", "reseal"], &[]),
        (&["backup"], &[backup]),
        (&["export"], &[export]),
        (&["maintain"], &[]),
    ] {
        let (done, printed) = on(command, options);
        assert!(done, "{command:?}: {printed}");
    }
    let wrong: Vec<_> = owners(&data).into_iter().filter(|(_, owner)| *owner != DAEMON).collect();
    assert_eq!(wrong, [], "these are not the service's");
    // The audit has who it was.
    let (_, audit) = on(&["audit"], &["--json"]);
    assert!(audit.contains("\"import_users\"") && audit.contains("root"), "{audit}");
    // Nothing of root's rights is left once the database is open.
    for (command, file) in [("export", "out.jsonl"), ("backup", "out.db")] {
        let (done, printed) = on(&[command], &[file]);
        assert!(!done && printed.contains("this ran as daemon, to whom"), "{printed}");
        assert!(!folder.join(file).exists());
    }
}

#[test]
fn commands_of_root_work_with_a_keyring_that_only_root_can_read() {
    let Some(machine) = Machine::new() else { return };
    let (folder, data) = (machine.folder.path(), machine.folder.path().join("data"));
    let of_root = folder.join("root");
    fs::create_dir(&of_root).unwrap();
    fs::set_permissions(&of_root, PermissionsExt::from_mode(0o700)).unwrap();
    let ring = of_root.join("keyring");
    fs::rename(data.join("seconder.db.keys"), &ring).unwrap();
    chown(&ring, Some(0), Some(0)).unwrap();
    let (copy, named) = (data.join("copy.db"), data.join("of-daemon.keys"));
    let [keyring, copy, named] = [&ring, &copy, &named].map(|path| path.to_str().unwrap());
    let works = |command: &[&str], options: &[&str]| {
        let (done, printed) = machine.on(command, &[&["--keyring", keyring], options].concat());
        assert!(done, "{command:?}: {printed}");
        printed
    };
    let listed = works(&["keyring", "list"], &[]);
    let first = listed.lines().last().unwrap()[..16].to_owned();
    works(&["keyring", "rotate"], &[]);
    works(&["keyring", "reseal"], &[]);
    works(&["user", "list"], &["--app", "1"]);
    let api_key = folder.join("api-key");
    fs::write(&api_key, works(&["key"], &[])).unwrap();
    fs::set_permissions(&api_key, PermissionsExt::from_mode(0o600)).unwrap();
    works(&["user", "list"], &["--api-key-file", api_key.to_str().unwrap()]);
    works(&["backup"], &[copy]);
    works(&["restore"], &["--replace", copy]);
    let (_, found) = machine.on(&["doctor"], &["--keyring", keyring, "--json"]);
    assert!(found.contains(&format!("{keyring} with 2 keys")), "{found}");
    // The owner of the database would be needed, and cannot replace the file.
    let (done, printed) =
        machine.on(&["keyring", "remove"], &["--keyring", keyring, "--key", &first]);
    assert!(!done && printed.contains("run this with --keyring and a copy"), "{printed}");
    assert_eq!(works(&["keyring", "list"], &[]).matches(&first).count(), 1);
    let mut wrong = owners(&data);
    wrong.retain(|(_, owner)| *owner != DAEMON);
    assert_eq!(wrong, [], "these are not the service's");
    assert_eq!(owners(&of_root), [(of_root.display().to_string(), 0), (keyring.to_owned(), 0)]);
    // The rights of root do not read a keyring for the user who put a link there.
    std::os::unix::fs::symlink(&ring, named).unwrap();
    std::os::unix::fs::lchown(named, Some(DAEMON), Some(DAEMON)).unwrap();
    for command in [&["user", "list"][..], &["keyring", "rotate"]] {
        let (done, printed) = machine.on(command, &["--keyring", named]);
        assert!(!done, "{command:?}: {printed}");
    }
    assert_eq!(works(&["keyring", "list"], &[]).lines().count(), 3);
}
