//! Tests of the limits of an application.

use super::*;

#[test]
fn limits_that_are_not_given_stay_and_what_is_stored_is_read_again() {
    let mut limits = Limits::default();
    assert_eq!(limits.stored(), "");
    limits.set("number_day=7,countries=44+1+44\ncool_down=0 refuse=voip+landline").unwrap();
    limits.set("deny=447+1876+447").unwrap();
    let stored = "cool_down=0 number_day=7 countries=1+44 deny=1876+447 refuse=landline+voip";
    assert_eq!(limits.stored(), stored);
    let mut again = Limits::default();
    again.set(stored).unwrap();
    assert_eq!(again, limits);
    again.set("number_day=20 countries=all deny=none refuse=none").unwrap();
    assert_eq!(again.stored(), "cool_down=0");
    assert!(again.allows(49, "+491") && limits.allows(44, "+441") && !limits.allows(49, "+491"));
    assert!(!limits.allows(44, "+447700900123") && !limits.allows(1, "+18765550123"));
}

#[test]
fn no_code_can_live_longer_than_the_longest_life() {
    let (_, _, _, most) = Limits::ranges().find(|(name, ..)| *name == "code_life").unwrap();
    assert_eq!(Duration::from_secs(most.into()), LONGEST_CODE_LIFE);
}

#[test]
fn invalid_limits_are_rejected() {
    for text in [
        "code_life=59",
        "code_life=3601",
        "tries=0",
        "tries=11",
        "sends",
        "sends=",
        "sends=0",
        "sends=101",
        "sends=+5",
        "sends=-1",
        "send=5",
        "countries=",
        "countries=x",
        "countries=1+",
        "deny=",
        "deny=+44",
        "deny=0044",
        "refuse=",
        "refuse=mobile",
        "refuse=landline+",
        "refuse=fax",
        "carrier_days=0",
        "audit_days=0",
        "sends=99999999999",
    ] {
        let error = Limits::default().set(text).unwrap_err();
        assert!(error.to_string().contains("limits"), "{text}: {error}");
    }
}

#[test]
fn three_wrong_codes_are_free_and_then_delays_double_up_to_15_minutes() {
    let seconds: Vec<u64> = (0..12).map(|wrong| delay(wrong).as_secs()).collect();
    assert_eq!(seconds, [0, 0, 0, 0, 2, 4, 8, 16, 32, 60, 900, 900]);
}
