//! SMS pumping: codes to new numbers of a country that nobody uses.

use super::*;
use seconder::calls::CheckPhoneVerification;

/// Requests a code for a new number, and uses it or not.
fn sign_up(world: &World, number: u64, country: &str, uses: bool) -> Result<(), Error> {
    start(world, number, country, None)?;
    if uses {
        let code = world.sent.lock().unwrap().last().unwrap().clone();
        let (country, number) = (country.parse().unwrap(), number_of(number));
        let check = CheckPhoneVerification::new(number, country, code.parse().unwrap());
        world.service.handle(&check).unwrap();
    }
    Ok(())
}

fn number_of(number: u64) -> seconder::model::PhoneNumber {
    format!("20255{number:05}").parse().unwrap()
}

#[test]
fn a_country_whose_codes_are_not_used_is_paused_for_new_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let world = world(
        &folder.path().join("a.db"),
        "completion_min=10 completion_after=20 completion_pause=600",
        &clock,
    );
    let user = ada(&world.service);
    log_in(&world, user).unwrap();
    // In a country where a fifth is used, codes are sent without end.
    (100..160).for_each(|number| sign_up(&world, number, "44", number % 5 == 0).unwrap());
    (200..219).for_each(|number| sign_up(&world, number, "1", false).unwrap());
    waits(sign_up(&world, 219, "1", false), "completion_min", 600);
    assert_eq!(refused(&world), ["completion_min"]);
    assert_eq!(world.warnings.lock().unwrap().len(), 1);
    let warning = world.warnings.lock().unwrap()[0].clone();
    assert!(
        warning.contains("country +1 are paused for 600 s") && warning.contains("1 of 20"),
        "{warning}"
    );
    let engine = world.service.engine().unwrap();
    let filter = AuditFilter { verdict: Some("paused".into()), ..AuditFilter::default() };
    let paused = engine.audit(&filter, None, 9).unwrap().entries;
    assert_eq!(paused.len(), 1, "{paused:?}");
    assert_eq!(paused[0].reason.as_deref(), Some("country 1: 1 of 20 codes used"));
    assert_eq!(paused[0].over_limit.as_deref(), Some("completion_min"));
    // Users who have used a code before go on, and so do other countries.
    clock.set(NOW + 599);
    log_in(&world, user).unwrap();
    sign_up(&world, 160, "44", false).unwrap();
    waits(sign_up(&world, 220, "1", false), "completion_min", 1);
    let found = world.service.operate(&CheckService {}).unwrap().findings;
    let codes = found.iter().find(|finding| finding.check == "codes").unwrap();
    assert_eq!(codes.status, Health::Warning, "{codes:?}");
    assert!(codes.found.contains("+1 9 % of 21 (paused)"), "{codes:?}");
    assert!(codes.found.contains("+44 19 % of 61"), "{codes:?}");
    // After the pause, as many are sent before the next one.
    clock.set(NOW + 600);
    (220..240).for_each(|number| sign_up(&world, number, "1", false).unwrap());
    waits(sign_up(&world, 240, "1", false), "completion_min", 600);
}

#[test]
fn the_brake_can_be_switched_off_and_forgets_after_an_hour() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let off = world(&folder.path().join("a.db"), "completion_min=0 completion_after=10", &clock);
    (0..30).for_each(|number| sign_up(&off, number, "1", false).unwrap());
    let slow = world(&folder.path().join("b.db"), "completion_min=10 completion_after=10", &clock);
    for hour in 0..3 {
        clock.set(NOW + hour * 3900);
        (0..9).for_each(|number| sign_up(&slow, 10 * hour + number, "1", false).unwrap());
    }
    // Messages that did not arrive are not counted.
    (1..15).for_each(|number| drop(sign_up(&slow, 100 * number + 99, "44", false).unwrap_err()));
    sign_up(&slow, 1, "44", false).unwrap();
}

#[test]
fn denied_numbers_get_no_codes() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let world = world(&folder.path().join("a.db"), "deny=1202551+44", &clock);
    for (number, country, is_denied) in [(10_000, "1", true), (20_000, "1", false), (1, "44", true)]
    {
        let sent = sign_up(&world, number, country, false);
        match is_denied {
            true => assert_eq!(sent.unwrap_err().code(), Some("country_not_allowed")),
            false => sent.unwrap(),
        }
    }
}
