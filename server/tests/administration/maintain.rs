//! `seconder maintain`.

use super::{database, objects};
use crate::command::{error_of, printed};
use crate::postgres_server;
use seconder::Settings;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_sound_database_is_reported_with_its_size_while_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = database(folder);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut written = 0;
            while !stop.load(Ordering::Relaxed) && written < 9000 {
                service
                    .create_user("ada@example.com", &format!("212555{written:04}"), "1")
                    .unwrap();
                written += 1;
            }
        });
        for options in [&["maintain"][..], &["maintain", "--full"]] {
            let found = &objects(folder, options)[0];
            assert_eq!(found["checked"], true);
            assert!(found["bytes"].as_u64().unwrap() > 100_000, "{found}");
            assert!(found["bytes_free"].is_u64(), "{found}");
        }
        stop.store(true, Ordering::Relaxed);
        writing.join().unwrap();
    });
    let shown = printed(folder, &["maintain"]);
    assert!(shown.starts_with("checked  the database is sound\nsize     "), "{shown}");
    // Nobody writes now, so nothing is in the log.
    assert_eq!(fs::metadata(folder.join("seconder.db-wal")).unwrap().len(), 0);
}

#[test]
fn a_database_on_a_server_is_left_to_the_server() {
    let server = postgres_server::Server::start();
    let folder = tempfile::tempdir().unwrap();
    let url = server.database("maintain");
    let ring = folder.path().join("ring");
    seconder::keyring::Keyring::at(&ring).create().unwrap();
    drop(Settings::new(&url).keyring(&ring).open().unwrap());
    let options = ["maintain", "--database", &url, "--keyring", "ring"];
    let shown = printed(folder.path(), &options);
    assert_eq!(shown, "checked  the server checks and vacuums its database by itself");
    let error = error_of(folder.path(), &["maintain", "--database", "sandbox:"]);
    assert!(error.contains("no other process can reach it"), "{error}");
}
