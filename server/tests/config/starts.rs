//! Starts that fail.

use super::run;
use std::fs;

#[test]
fn a_start_that_fails_has_created_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    fs::write(folder.join("key"), "the-key-of-the-other-service\n").unwrap();
    let self_signed = |options: &[&'static str]| [&["--self-signed"], options].concat();
    let forward = |options: &[&'static str]| {
        self_signed(&[&["--listen", "127.0.0.1:0", "--forward"], options].concat())
    };
    for (options, problem) in [
        (vec!["--certificate", "nope.pem", "--key", "nope.key"], "nope.pem cannot be read"),
        (vec!["--self-signed", "--listen", &taken], "cannot be bound"),
        (vec!["--self-signed", "--listen", "127.0.0.1:0", "--metrics", &taken], "cannot be bound"),
        (forward(&["ftp://x"]), "must begin with https:"),
        (forward(&["https://x"]), "forward-key-file is missing"),
        (forward(&["https://x", "--forward-key-file", "nope.key"]), "nope.key cannot be read"),
        (
            forward(&["https://x", "--forward-key-file", "key", "--forward-ca-file", "nope.pem"]),
            "nope.pem",
        ),
        (forward(&["https://x:y z", "--forward-key-file", "key"]), "forward"),
        (self_signed(&["--texts", "nope.json"]), "nope.json cannot be read"),
        (self_signed(&["--texts", "key"]), "texts"),
        (self_signed(&["--push-host", "http://x y"]), "push_hosts"),
        (self_signed(&["--otp-domain", "::"]), "otp_domain"),
        (self_signed(&["--application-name", ""]), "application_name"),
        (self_signed(&["--keyring", "nope/keyring"]), "nope/keyring"),
        (self_signed(&["--keyring", "key"]), "the keyring key can be read"),
        (self_signed(&["--api-key-file", "nope.key"]), "nope.key cannot be read"),
        (self_signed(&["--id-field", "a b"]), "id_field"),
        #[cfg(unix)]
        (self_signed(&["--pid-file", "nope/pid"]), "nope/pid"),
        #[cfg(unix)]
        (self_signed(&["--unix", "s.sock", "--unix-owner", "no such user"]), "--unix-owner"),
    ] {
        let listens = options.contains(&"--listen") || options.contains(&"--certificate");
        let listen: &[&str] = if listens { &[] } else { &["--listen", "127.0.0.1:0"] };
        let output = run(folder, &[&["serve", "--log-format=human"], listen, &options].concat());
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{options:?}: {printed}");
        assert!(printed.contains(problem), "{options:?}: {printed}");
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["key"], "{options:?}");
    }
}
