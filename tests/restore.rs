//! What is accepted after a database was put back from a copy: by the operation for it, or by hand.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::copies::{NOW, World, put_back};
use crate::fresh::{ManualClock, ada, open_at};
use seconder::otp::Totp;
use seconder::{Handle, Verdict};
use std::io::Write;

#[test]
fn a_database_that_is_opened_again_keeps_its_codes() {
    let world = World::new();
    for _ in 0..3 {
        drop(world.open());
    }
    world.use_all();
}

#[test]
fn what_was_used_since_a_backup_is_not_accepted_after_it_is_restored() {
    let world = World::new();
    let copy = world.backup();
    world.use_all();
    put_back(&copy, &world.path, true).unwrap();
    assert!(!world.at("seconder.db-wal").exists());
    for _ in 0..2 {
        // The clock of the service stands at the time of the codes, but the restore came later.
        let service = world.open();
        for at in [NOW, NOW + 30] {
            assert_eq!(
                world.user.check(&service, world.user.app.code(at).expose()),
                Verdict::Wrong
            );
        }
    }
}

#[test]
fn a_backup_that_is_put_back_by_hand_is_recognised() {
    let world = World::new();
    let copy = world.backup();
    world.use_all();
    std::fs::rename(copy, &world.path).unwrap();
    world.user.is_spent(&world.open(), &world.clock);
}

#[test]
fn what_is_spent_does_not_depend_on_a_clock_that_was_set_back() {
    let world = World::new();
    let copy = world.backup();
    world.use_all();
    std::fs::rename(copy, &world.path).unwrap();
    world.clock.set(NOW - 86_400);
    drop(world.open());
    world.clock.set(NOW);
    world.user.is_spent(&world.open(), &world.clock);
}

#[test]
fn a_copy_of_the_file_in_its_place_is_recognised() {
    let world = World::new();
    std::fs::copy(&world.path, world.at("copy.db")).unwrap();
    world.use_all();
    std::fs::remove_file(&world.path).unwrap();
    std::fs::copy(world.at("copy.db"), &world.path).unwrap();
    world.user.is_spent(&world.open(), &world.clock);
}

#[test]
fn an_earlier_state_that_is_written_into_the_same_file_is_recognised() {
    let world = World::new();
    let before = std::fs::read(&world.path).unwrap();
    world.use_all();
    let mut file = std::fs::File::options().write(true).open(&world.path).unwrap();
    file.write_all(&before).unwrap();
    file.set_len(before.len() as u64).unwrap();
    drop(file);
    world.user.is_spent(&world.open(), &world.clock);
}

#[test]
fn an_earlier_state_is_recognised_even_if_the_service_was_killed() {
    let world = World::new();
    let before = std::fs::read(&world.path).unwrap();
    let service = world.open();
    world.user.is_not_spent(&service);
    // As many changes as there are between two of the numbers beside the database.
    for number in 0..64 {
        let phone = format!("555-010-{number:04}");
        service.create_user("eve@example.com", &phone, "1").unwrap();
    }
    // What a killed process leaves: the files as they are.
    for name in ["seconder.db-mark", "seconder.db"] {
        std::fs::copy(world.at(name), world.at(&format!("killed-{name}"))).unwrap();
    }
    drop(service);
    std::fs::copy(world.at("killed-seconder.db-mark"), world.at("seconder.db-mark")).unwrap();
    let mut file = std::fs::File::options().write(true).open(&world.path).unwrap();
    file.write_all(&before).unwrap();
    file.set_len(before.len() as u64).unwrap();
    drop(file);
    world.user.is_spent(&world.open(), &world.clock);
}

#[test]
fn a_file_that_was_only_renamed_is_no_copy() {
    let mut world = World::new();
    let other = world.at("other.db");
    std::fs::rename(&world.path, &other).unwrap();
    std::fs::rename(world.at("seconder.db.keys"), world.at("other.db.keys")).unwrap();
    // The number beside it is that of another database, if any.
    world.path = other;
    world.use_all();
}

#[test]
fn whoever_sets_a_machine_back_can_spend_what_was_used() {
    let world = World::new();
    let service = world.open();
    service.engine().unwrap().spend_codes().unwrap();
    world.user.is_spent(&service, &world.clock);
}

#[test]
fn an_enrolment_that_was_not_confirmed_ends_with_a_restore() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let (service, _) = open_at(&folder.path().join("seconder.db"), &clock);
    let user = ada(&service);
    let app = Totp::from_uri(service.enrol_authenticator(user).unwrap().uri.expose()).unwrap();
    service.engine().unwrap().spend_codes().unwrap();
    let verdict =
        service.handle(&seconder::Verify::new(user, app.code(NOW).expose().parse().unwrap()));
    assert_eq!(verdict.unwrap().verdict, Verdict::Wrong);
}
