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

#[test]
fn commands_of_root_become_the_owner_of_the_database() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root can become another user");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    let data = folder.join("data");
    fs::create_dir(&data).unwrap();
    chown(&data, Some(DAEMON), Some(DAEMON)).unwrap();
    fs::set_permissions(&data, PermissionsExt::from_mode(0o700)).unwrap();
    // The program of the tests is where other users may not be, and init runs it as one of them.
    let program = folder.join("seconder");
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_seconder")).arg(&program).status();
    assert!(copied.unwrap().success());
    let url = format!("sqlite:{}/seconder.db", data.display());
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.current_dir(folder).env_remove("SUDO_USER").args(arguments);
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    };
    let database = format!("database={url}");
    assert!(run(&["init", "--no-input", "self_signed=true", &database]).0);
    let on = |command: &[&str], options: &[&str]| {
        run(&[command, &["--database", &url], options].concat())
    };
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
