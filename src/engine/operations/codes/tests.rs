//! Codes that are sent, sent again or not sent.

use super::*;
use crate::engine::model::limits;
use crate::engine::model::texts::{Kind, Texts, Values, Wording};
use crate::engine::store::{Memory, Store};

const AT: Time = Time(1_000_000_000);
const NOW: Now = Now { clock: AT, steady: AT };

fn request(user: u64) -> IssueCode {
    IssueCode {
        subject: Subject::User(1, user.try_into().unwrap()),
        action: String::new(),
        fresh: Zeroizing::new("7654321".into()),
        life: limits::CODE_LIFE,
        cool_down: Duration::ZERO,
        sends: limits::SENDS,
        tries: limits::TRIES,
        message: Outgoing {
            to: String::new(),
            masked: String::new(),
            by_voice: false,
            text: Wording::new(&Texts::default(), Kind::Sms, (None, 1), &Values::default()),
            country: 1,
            network: None,
            user_ip: None,
        },
        job: (user as i64, "host".into(), Duration::ZERO),
        uuid: None,
        now: NOW,
        sending: Sending {
            app: 1,
            number: String::new(),
            country: 1,
            network: None,
            verifies_number: false,
            limits: None,
            now: AT,
        },
    }
}

fn send(store: &Store, user: u64) -> Issued {
    let wanted = request(user);
    store.run(move |view| issue(view, &wanted)).unwrap()
}

/// A row of a code that was sent before.
fn add(view: &mut View, user: u64, expires_at: Time) {
    let subject = Subject::User(1, user.try_into().unwrap());
    view.put(SentCode::issued(&subject, "", expires_at));
}

impl SentCode {
    /// Returns a code that was sent once, long ago.
    pub(in crate::engine) fn issued(subject: &Subject, action: &str, expires_at: Time) -> SentCode {
        SentCode {
            subject: subject.key(),
            action: action.to_owned(),
            code: "1234567".into(),
            expires_at,
            sends: 1,
            wrong_tries: 0,
            spent: false,
            sms_at: Time(0),
            call_at: Time(0),
            route: None,
        }
    }
}

/// One that would live too long is dead too: it was issued while the clock was wrong.
#[test]
fn a_dead_code_is_not_sent_again() {
    let store = Store::new(Memory::new());
    let too_long = AT.plus(Duration::from_secs(24 * 60 * 60));
    let fill = store.run(move |view| {
        add(view, 1, AT);
        add(view, 2, too_long);
        Ok(())
    });
    fill.unwrap();
    for user in [1, 2] {
        let Issued::Sent { message, .. } = send(&store, user) else { panic!("no code") };
        let What::Message { code, .. } = message.what else { panic!("no message") };
        assert_eq!(*code.unwrap(), "7654321", "a code that can be accepted");
    }
}

/// The first finds an old code of its user, and the second looks for old codes of others.
#[test]
fn a_fresh_code_survives_the_requests_of_others_in_its_batch() {
    let store = Store::new(Memory::new());
    let (first, second) = (request(1), request(2));
    let fill = store.run(|view| {
        add(view, 1, AT);
        Ok(())
    });
    fill.unwrap();
    let sent = store.run(move |view| {
        issue(view, &first)?;
        issue(view, &second)
    });
    assert!(matches!(sent.unwrap(), Issued::Sent { .. }));
    let codes = store.look(|view| view.all::<SentCode>(())).unwrap();
    assert_eq!(codes.iter().filter(|code| code.code.get().unwrap() == "7654321").count(), 2);
}

/// Sends a code to the first user, who has these codes, and returns the name of the outcome.
fn outcome(old: Vec<SentCode>, cool_down: Duration) -> &'static str {
    let store = Store::new(Memory::new());
    let wanted = IssueCode { cool_down, ..request(1) };
    let issued = store.run(move |view| {
        old.iter().cloned().for_each(|code| view.put(code));
        issue(view, &wanted)
    });
    match issued.unwrap() {
        Issued::Sent { .. } => "sent",
        Issued::TooSoon(_) => "too soon",
        Issued::TooOften(_) => "too often",
        _ => "another",
    }
}

fn of_action(action: &str, sends: u32, sms_at: Time) -> SentCode {
    let subject = Subject::User(1, 1.try_into().unwrap());
    let issued = SentCode::issued(&subject, action, AT.plus(limits::CODE_LIFE));
    SentCode { sends, sms_at, ..issued }
}

#[test]
fn messages_with_unused_codes_are_limited_for_all_actions_together() {
    let spent = |code: SentCode| SentCode { spent: true, ..code };
    let none = Duration::ZERO;
    let codes = |other, own| vec![of_action("pay", other, Time(0)), of_action("", own, Time(0))];
    assert_eq!(outcome(codes(2, 2), none), "sent");
    assert_eq!(outcome(codes(2, 3), none), "too often");
    assert_eq!(outcome(codes(5, 0), none), "too often");
    assert_eq!(outcome(vec![spent(of_action("pay", 5, Time(0)))], none), "sent");
    assert_eq!(outcome(vec![spent(of_action("", 5, Time(0)))], none), "sent");
}

#[test]
fn each_message_counts_and_begins_a_cool_down() {
    let (cool, slack) = (limits::COOL_DOWN, CLOCK_SLACK);
    let at = |sms_at| vec![of_action("", 1, sms_at)];
    assert_eq!(outcome(at(AT), cool), "too soon");
    assert_eq!(outcome(at(AT.minus(cool)), cool), "sent");
    assert_eq!(outcome(at(AT.plus(slack)), cool), "too soon");
    assert_eq!(outcome(at(Time(AT.plus(slack).0 + 1)), cool), "sent", "the clock was wrong");
    let store = Store::new(Memory::new());
    for job_id in [1, 2] {
        let wanted = IssueCode { job: (job_id, "host".into(), Duration::ZERO), ..request(1) };
        let issued = store.run(move |view| issue(view, &wanted)).unwrap();
        assert!(matches!(issued, Issued::Sent { .. }));
    }
    let codes = store.look(|view| view.all::<SentCode>(("user:1".to_owned(),))).unwrap();
    assert_eq!(codes.iter().map(|code| code.sends).collect::<Vec<_>>(), [2]);
}

#[test]
fn a_number_with_too_many_wrong_codes_gets_none_until_it_is_forgotten() {
    let barred = |forget_at: Time, wrong: u32| {
        let store = Store::new(Memory::new());
        let subject = Subject::Phone(1, "+15550100123".into());
        let wanted = IssueCode { subject: subject.clone(), ..request(1) };
        let issued = store.run(move |view| {
            let (subject, factor) = (subject.key(), Factor::Code.name().to_owned());
            view.put(FactorState {
                subject: subject.clone(),
                factor,
                wrong_in_a_row: wrong,
                wrong_at: AT,
            });
            view.put(NumberCheck {
                subject,
                app_id: 1,
                uuid: String::new(),
                expires_at: AT,
                forget_at,
                verified: false,
            });
            issue(view, &wanted)
        });
        matches!(issued.unwrap(), Issued::Barred(Barred::Until(until)) if until == forget_at)
    };
    assert!(barred(Time(AT.0 + 1), limits::MOST_WRONG));
    assert!(!barred(AT, limits::MOST_WRONG));
    assert!(!barred(Time(AT.0 + 1), limits::MOST_WRONG - 1));
}

/// Returns the code that is sent to a user who has this one, of the present length or another.
fn sent_after(old: SentCode) -> String {
    let store = Store::new(Memory::new());
    let wanted = request(1);
    let issued = store.run(move |view| {
        view.put(old.clone());
        issue(view, &wanted)
    });
    let Issued::Sent { message, .. } = issued.unwrap() else { panic!("no code") };
    let What::Message { code, .. } = message.what else { panic!("no message") };
    code.unwrap().to_string()
}

#[test]
fn a_code_is_sent_again_while_it_can_be_accepted_and_is_as_long() {
    let old = || of_action("", 1, Time(0));
    let end = AT.plus(LONGEST_CODE_LIFE + CLOCK_SLACK);
    assert_eq!(sent_after(old()), "1234567");
    assert_eq!(sent_after(SentCode { expires_at: end, ..old() }), "1234567");
    assert_eq!(sent_after(SentCode { expires_at: Time(end.0 + 1), ..old() }), "7654321");
    assert_eq!(sent_after(SentCode { wrong_tries: 4, ..old() }), "1234567");
    assert_eq!(sent_after(SentCode { wrong_tries: 5, ..old() }), "7654321");
    assert_eq!(sent_after(SentCode { code: "123456".into(), ..old() }), "7654321");
    assert_eq!(sent_after(SentCode { spent: true, ..old() }), "7654321");
}
