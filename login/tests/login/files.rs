//! Files that somebody else could have written, or that are none.

use seconder_login::config::{Config, Sources};
use seconder_login::read_users;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::time::Instant;

/// A folder with a file that only its owner may read and write.
pub(crate) fn private(name: &str, text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), text).unwrap();
    mode(&folder.path().join(name), 0o600);
    folder
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// What is wrong with a configuration in a file.
fn problems(path: &Path) -> String {
    match Config::read(&Sources::new(path, &[])) {
        Ok(_) => String::new(),
        Err(problems) => problems.iter().map(|problem| format!("{problem}\n")).collect(),
    }
}

#[test]
fn a_file_that_others_can_write_is_rejected() {
    let folder = private("pam.conf", "tries = 3\n");
    let file = folder.path().join("pam.conf");
    assert_eq!(problems(&file), "");
    for (bits, right) in [(0o644, true), (0o640, true), (0o660, false), (0o606, false)] {
        mode(&file, bits);
        assert_eq!(problems(&file).is_empty(), right, "{bits:o}: {}", problems(&file));
    }
    mode(&file, 0o600);
    for (bits, right) in [(0o755, true), (0o775, false), (0o757, false), (0o1777, true)] {
        mode(folder.path(), bits);
        assert_eq!(problems(&file).is_empty(), right, "{bits:o}: {}", problems(&file));
    }
}

#[test]
fn a_file_or_folder_of_somebody_else_is_rejected() {
    let folder = private("pam.conf", "");
    let file = folder.path().join("pam.conf");
    if chown(&file, Some(65_534), None).is_err() {
        return eprintln!("skipped: only root gives files away");
    }
    assert!(problems(&file).contains("belongs to user 65534: it must belong to root"));
    chown(&file, Some(0), None).unwrap();
    chown(folder.path(), Some(65_534), None).unwrap();
    let found = problems(&file);
    assert!(
        found.contains(&format!("is in {}, which belongs to", folder.path().display())),
        "{found}"
    );
    // A user's own file, in a folder that everybody can write and that has the sticky bit.
    chown(folder.path(), Some(0), None).unwrap();
    mode(folder.path(), 0o1777);
    chown(&file, Some(65_534), None).unwrap();
    assert!(problems(&file).contains("belongs to user"));
}

#[test]
fn links_fifos_devices_and_folders_are_rejected_at_once() {
    let folder = private("pam.conf", "");
    let at = |name: &str| folder.path().join(name);
    symlink(at("pam.conf"), at("link")).unwrap();
    symlink(folder.path(), at("folder")).unwrap();
    let mkfifo = std::process::Command::new("mkfifo").arg(at("fifo")).status();
    assert!(mkfifo.unwrap().success());
    let began = Instant::now();
    for (name, reason) in [
        ("link", "symbolic link"),
        ("folder/pam.conf", "symbolic link"),
        ("fifo", "is not a regular file"),
        (".", "is not a regular file"),
        ("pam.conf/x", "not a folder"),
        ("missing", "No such file"),
        ("../x", "without `..`"),
        ("pam.conf\0", "cannot be opened"),
    ] {
        let found = problems(&at(name));
        assert!(found.contains(reason), "{name}: {found}");
    }
    assert!(problems(Path::new("/dev/zero")).contains("is not a regular file"));
    assert!(problems(Path::new("pam.conf")).contains("must be an absolute path"));
    assert!(problems(Path::new("/")).contains("is a folder"));
    assert!(began.elapsed().as_secs() < 5);
}

#[test]
fn a_file_that_is_too_long_or_no_text_is_rejected() {
    let folder = private("pam.conf", "");
    let file = folder.path().join("pam.conf");
    fs::write(&file, "#\n".repeat(40_000)).unwrap();
    assert!(problems(&file).contains("has more than 65536 bytes"));
    fs::write(&file, b"tries = 3\n\nx\xff\n").unwrap();
    assert!(problems(&file).contains("is not text in UTF-8: see line 3"));
}

#[test]
fn a_secret_that_everybody_can_read_is_rejected() {
    let folder = private("key", "secret\nmore\n");
    let key = folder.path().join("key");
    let text = format!("url = https://localhost\napi_key_file = {}\n", key.display());
    fs::write(folder.path().join("pam.conf"), text).unwrap();
    let conf = folder.path().join("pam.conf");
    assert_eq!(problems(&conf), "");
    mode(&key, 0o644);
    let found = problems(&conf);
    assert!(found.contains("pam.conf:2:") && found.contains("run chmod 600"), "{found}");
    mode(&key, 0o640);
    assert_eq!(problems(&conf), "");
    fs::write(&key, "\nsecret\n").unwrap();
    assert!(problems(&conf).contains("holds no API key in its first line"));
    fs::remove_file(&key).unwrap();
    assert!(problems(&conf).contains("No such file"));
    // A proxy's password is a secret in the file itself.
    let text = "url = unix:/x\nproxy = http://ada:secret@proxy:1\n";
    fs::write(&conf, text).unwrap();
    mode(&conf, 0o644);
    let found = problems(&conf);
    assert!(found.contains("can be read by everybody") && !found.contains("ada"), "{found}");
}

#[test]
fn the_argument_conf_names_another_file() {
    let folder = private("pam.conf", "tries = 9\n");
    let argument = format!("conf={}", folder.path().join("pam.conf").display());
    let config = Config::read(&Sources::new(Path::new("/missing"), &[&argument])).unwrap();
    assert!(config.effective().any(|(key, value, _)| (key, value) == ("tries", "9")));
    assert!(Config::read(&Sources::new(Path::new("/missing"), &[&argument, &argument])).is_err());
    let problems = Config::read(&Sources::new(Path::new("/missing"), &["tries=0"])).unwrap_err();
    assert_eq!(problems.len(), 2, "{problems:?}");
}

#[test]
fn a_map_of_users_is_right_in_every_line_or_not_used() {
    let path = Path::new("/users");
    let map = read_users("# ours\nada = 1\n\nvpn-host$=2\na.b@c+d_e = 9223372036854775807\n", path);
    assert_eq!(map.unwrap().len(), 3);
    let text = "ada = 1\nada = 2\nbob\n= 3\n../x = 4\n-rf = 4\neve = 0\neve = 1 2\nx = +1\n\
                r\u{f6}bin = 1\nlong = 9223372036854775808\n";
    let problems = read_users(text, path).unwrap_err();
    assert_eq!(problems.len(), 10, "{problems:#?}");
    assert_eq!(
        problems[0].to_string(),
        "/users:3: must be `key = value`, or begin with # as a comment"
    );
    assert_eq!(problems[1].to_string(), "/users:2: ada is in the file twice");
}
