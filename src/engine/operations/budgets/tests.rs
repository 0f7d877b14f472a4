//! Tests of the limits of messages.

use super::*;
use crate::engine::model::limits;
use crate::engine::store::{Memory, Store};

const START: i64 = 1_700_000_000_000;

fn sending(number: &str, at: i64) -> Sending {
    Sending {
        app: 1,
        number: number.to_owned(),
        country: 1,
        network: None,
        verifies_number: false,
        limits: Some(Limits::default()),
        now: Time(START + at * 1000),
    }
}

fn spend(store: &Store, sending: &Sending) -> Option<(&'static str, i64)> {
    let sending = sending.clone();
    let spent = store.run(move |view| sending.spend(view)).unwrap();
    spent.err().map(|over| (over.limit, over.until.map_or(0, |at| (at.0 - START) / 1000)))
}

#[test]
fn a_number_gets_five_in_any_ten_minutes() {
    let store = Store::new(Memory::new());
    for at in [0, 100, 200, 300, 400] {
        assert_eq!(spend(&store, &sending("+1", at)), None);
    }
    assert_eq!(spend(&store, &sending("+1", 599)), Some(("number_10_minutes", 600)));
    assert_eq!(spend(&store, &sending("+2", 599)), None);
    assert_eq!(spend(&store, &sending("+1", 600)), None);
    assert_eq!(spend(&store, &sending("+1", 600)), Some(("number_10_minutes", 700)));
}

#[test]
fn verifications_of_a_number_leave_half_of_its_messages_to_logins() {
    for (most, verifications) in [(1, 1), (2, 1), (5, 2), (20, 10)] {
        let store = Store::new(Memory::new());
        let mut limits = Limits::default();
        limits.set(&format!("number_10_minutes={most} number_day={most}")).unwrap();
        let login = |at| Sending { limits: Some(limits.clone()), ..sending("+1", at) };
        let verification = |at| Sending { verifies_number: true, ..login(at) };
        let over = |until| Some(("number_10_minutes", until));
        for _ in 0..verifications {
            assert_eq!(spend(&store, &verification(0)), None, "{most}");
        }
        assert_eq!(spend(&store, &verification(1)), over(600), "{most}");
        for _ in verifications..most {
            assert_eq!(spend(&store, &login(2)), None, "{most}");
        }
        assert_eq!(spend(&store, &login(3)), over(600), "{most}");
    }
    let store = Store::new(Memory::new());
    let verification = |at| Sending { verifies_number: true, ..sending("+1", at) };
    for round in 0..5 {
        assert_eq!(spend(&store, &verification(round * 600)), None);
        assert_eq!(spend(&store, &verification(round * 600)), None);
    }
    assert_eq!(spend(&store, &verification(3000)), Some(("number_day", 86_400)));
    let failed = verification(2400);
    store.run(move |view| failed.take_back(view)).unwrap();
    assert_eq!(spend(&store, &verification(3000)), None, "one was taken back");
    assert_eq!(spend(&store, &verification(3001)), Some(("number_day", 86_400)));
}

#[test]
fn a_number_gets_twenty_in_any_day() {
    let store = Store::new(Memory::new());
    for message in 0..20 {
        assert_eq!(spend(&store, &sending("+1", message * 600)), None);
    }
    assert_eq!(spend(&store, &sending("+1", 86_399)), Some(("number_day", 86_400)));
    assert_eq!(spend(&store, &sending("+1", 86_400)), None);
    assert_eq!(spend(&store, &sending("+1", 86_400)), Some(("number_day", 87_000)));
}

#[test]
fn an_address_causes_ten_in_any_hour_and_a_network_of_ipv6_is_one() {
    let from = |address: &str, number: i64, at| {
        let network = Some(limits::network(address.parse().unwrap()));
        Sending { network, ..sending(&format!("+{number}"), at) }
    };
    for (first, same, other) in [
        ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
        ("2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1"),
    ] {
        let store = Store::new(Memory::new());
        for number in 0..10 {
            assert_eq!(spend(&store, &from(first, number, number)), None);
        }
        assert_eq!(spend(&store, &from(same, 11, 3599)), Some(("address_hour", 3600)));
        assert_eq!(spend(&store, &from(other, 11, 3599)), None);
        assert_eq!(spend(&store, &from(same, 12, 3600)), None);
    }
}

#[test]
fn countries_and_applications_have_a_budget_for_each_day() {
    let store = Store::new(Memory::new());
    let mut limits = Limits::default();
    limits.set("country_day=2 application_day=3 countries=1+44").unwrap();
    let to = |country, number: i64, at| Sending {
        country,
        limits: Some(limits.clone()),
        ..sending(&format!("+{number}"), at)
    };
    // The day of the start ends after 6400 seconds.
    assert_eq!(spend(&store, &to(1, 1, 0)), None);
    assert_eq!(spend(&store, &to(1, 2, 0)), None);
    assert_eq!(spend(&store, &to(1, 3, 0)), Some(("country_day", 6400)));
    assert_eq!(spend(&store, &to(49, 4, 0)), Some(("countries", 0)));
    assert_eq!(spend(&store, &to(44, 5, 0)), None);
    assert_eq!(spend(&store, &to(44, 6, 6399)), Some(("application_day", 6400)));
    assert_eq!(spend(&store, &to(1, 7, 6400)), None);
}

#[test]
fn verifications_of_numbers_leave_half_of_each_day_to_logins() {
    for (set, limit) in [
        ("country_day=4 application_day=100", "country_day"),
        ("country_day=100 application_day=4", "application_day"),
    ] {
        let store = Store::new(Memory::new());
        let mut limits = Limits::default();
        limits.set(set).unwrap();
        let login = |number: i64| Sending {
            limits: Some(limits.clone()),
            ..sending(&format!("+{number}"), 0)
        };
        let verification = |number| Sending { verifies_number: true, ..login(number) };
        let over = Some((limit, 6400));
        let spent = [1, 2, 3].map(|number| spend(&store, &verification(number)));
        assert_eq!(spent, [None, None, over]);
        let failed = verification(2);
        store.run(move |view| failed.take_back(view)).unwrap();
        let spent = [4, 5].map(|number| spend(&store, &verification(number)));
        assert_eq!(spent, [None, over], "one was taken back");
        let spent = [6, 7, 8].map(|number| spend(&store, &login(number)));
        assert_eq!(spent, [None, None, over]);
    }
}

#[test]
fn a_message_that_is_taken_back_does_not_count() {
    let store = Store::new(Memory::new());
    for at in 0..5 {
        assert_eq!(spend(&store, &sending("+1", at)), None);
    }
    let last = sending("+1", 4);
    store.run(move |view| last.take_back(view)).unwrap();
    assert_eq!(spend(&store, &sending("+1", 5)), None);
    assert_eq!(spend(&store, &sending("+1", 6)), Some(("number_10_minutes", 600)));
    let rows = store.look(|view| view.all::<Budget>(())).unwrap();
    let counted = rows.iter().filter(|row| !row.subject.starts_with("undelivered"));
    assert!(counted.clone().all(|row| row.count == 0 || row.count == 5));
    assert_eq!(counted.count(), 3);
}

#[test]
fn no_more_messages_are_taken_back_than_may_be_sent() {
    let store = Store::new(Memory::new());
    let attempts = (0..100).filter(|at| {
        let sending = sending("+1", *at);
        let sent = spend(&store, &sending).is_none();
        if sent {
            store.run(move |view| sending.take_back(view)).unwrap();
        }
        sent
    });
    assert_eq!(attempts.count(), 10, "five that failed and were taken back, and five more");
    assert_eq!(spend(&store, &sending("+1", 600)), Some(("number_10_minutes", 605)));
    assert_eq!(spend(&store, &sending("+1", 605)), None);
}

#[test]
fn what_is_refused_changes_nothing() {
    let store = Store::new(Memory::new());
    let spent = (0..7).map(|at| spend(&store, &sending("+1", at)).is_none());
    assert_eq!(spent.filter(|spent| *spent).count(), 5);
    let count = |store: &Store| {
        let rows = store.look(|view| view.all::<Budget>(())).unwrap();
        let shown = |row: &Budget| (row.subject.clone(), row.times.len() / 8, row.count);
        rows.iter().map(shown).collect::<Vec<_>>()
    };
    let expected = [("application:1", 0, 5), ("country:1:1", 0, 5), ("number:1:+1", 5, 0)];
    assert_eq!(count(&store), expected.map(|(name, times, all)| (name.to_owned(), times, all)));
}
