//! The verdicts on guesses, factor by factor, and at their limits.

use super::*;
use crate::engine::model::limits;
use crate::engine::store::{
    Authenticator, FactorState, Memory, RecoveryCode, SentCode, Store, User,
};
use crate::otp::{Algorithm, Totp};
use std::time::Duration;

const ADA: u64 = 1;
const SECRET: &[u8] = b"12345678901234567890";
/// The time of the guesses, unless a test needs another.
const NOW: Time = Time(1_000_000_000);
const STEP: u64 = 1_000_000 / 30;

fn ada() -> Subject {
    Subject::User(1, ADA.try_into().unwrap())
}

fn user() -> User {
    let user = User::new((1, ADA), (1, "5550100123".into()), "ada@example.com", Time(0));
    User { confirmed: true, ..user }
}

fn sent(action: &str, code: &str) -> SentCode {
    let issued = SentCode::issued(&ada(), action, Time(NOW.0 + 1));
    SentCode { code: code.to_owned().into(), ..issued }
}

fn app(authenticator_id: i64, last_step: Option<u64>) -> Authenticator {
    Authenticator {
        user_id: ADA,
        authenticator_id,
        label: None,
        secret: SECRET.to_vec().into(),
        digits: 6,
        period: 30,
        last_step,
        used_at: None,
        prepared_step: None,
        created_at: Time(0),
        device_id: None,
        algorithm: Algorithm::Sha1.name().to_owned(),
    }
}

fn recovery(spent: bool) -> RecoveryCode {
    RecoveryCode { user_id: ADA, hash: vec![7; 32], salt: vec![1].into(), spent }
}

fn store(fill: impl Fn(&mut View) + Send + 'static) -> Store {
    let store = Store::new(Memory::new());
    let filled = store.run(move |view| {
        view.put(user());
        fill(view);
        Ok(())
    });
    filled.unwrap();
    store
}

/// Checks a guess from an address that may send one wrong code an hour, and returns the outcome as text.
fn verdict_from(store: &Store, guess: Guess, at: Time, address: &WrongFromAddress) -> String {
    let now = Now { clock: at, steady: at };
    let of = Circumstances { address: address.clone(), counted: Counted::OfUser, now };
    match store.run(move |view| check(view, &ada(), &guess, &of)).unwrap() {
        Checked::NoUser => "no user".into(),
        Checked::NotConfirmed => "not confirmed".into(),
        Checked::NonePending => "none pending".into(),
        Checked::Unhashed(_) => "unhashed".into(),
        Checked::Barred(barred) => format!("{barred:?}"),
        Checked::Used => "used".into(),
        Checked::Wrong(factors, reason) => format!("wrong {factors:?} {reason:?}"),
        Checked::Right(found, _) => format!("right {:?}", found.factor()),
    }
}

fn verdict_at(store: &Store, guess: Guess, at: Time) -> String {
    verdict_from(store, guess, at, &WrongFromAddress::default())
}

fn verdict(store: &Store, guess: Guess) -> String {
    verdict_at(store, guess, NOW)
}

fn login(typed: &str, action: &str) -> Guess {
    let (typed, action) = (typed.parse().unwrap(), action.to_owned());
    Guess::Login { typed, action, force: false, tries: limits::TRIES }
}

fn hashed(hash: u8, salt: u8) -> Guess {
    let hashed = Hashed { hash: vec![hash; 32], salt: vec![salt].into() };
    Guess::Recovery { hashed: Some(hashed), force: false }
}

fn first(typed: &str, sandbox: Option<bool>) -> Guess {
    Guess::FirstOfApp { typed: typed.parse().unwrap(), sandbox }
}

fn code_of_app(step: u64) -> String {
    let totp = Totp::new(SECRET, Algorithm::Sha1, 6, 30).unwrap();
    totp.code(step * 30).expose().to_owned()
}

/// The wrong codes in a row of each factor.
fn wrong(store: &Store) -> [u32; 3] {
    let rows = store.look(|view| view.all::<FactorState>((ada().key(),))).unwrap();
    Factor::ALL.map(|factor| WrongAnswers::of(&rows, factor).in_a_row)
}

#[test]
fn a_code_lives_until_it_expires_or_has_no_tries_left() {
    let now = Now { clock: NOW, steady: NOW };
    let lives = |change: &dyn Fn(&mut SentCode)| {
        let mut code = sent("", "1234567");
        change(&mut code);
        code.lives(now, 5)
    };
    let longest = NOW.plus(limits::LONGEST_CODE_LIFE + limits::CLOCK_SLACK);
    assert!(lives(&|_| {}));
    assert!(!lives(&|code| code.expires_at = NOW));
    assert!(lives(&|code| code.expires_at = longest));
    assert!(!lives(&|code| code.expires_at = Time(longest.0 + 1)));
    assert!(lives(&|code| code.wrong_tries = 4));
    assert!(!lives(&|code| code.wrong_tries = 5));
    assert!(!lives(&|code| code.spent = true));
}

#[test]
fn wrong_codes_bar_a_factor_until_the_wait_is_over() {
    let bar = |in_a_row, last: i64| {
        let wrong = WrongAnswers { in_a_row, last_at: Some(Time(NOW.0 + last)) };
        wrong.bar(Now { clock: NOW, steady: NOW })
    };
    assert_eq!(bar(3, 5), None, "another process may be ahead");
    assert_eq!(bar(4, -1999), Some(Barred::Until(Time(NOW.0 + 1))));
    assert_eq!(bar(4, -2000), None);
    assert_eq!(bar(99, -1000), Some(Barred::Until(NOW.plus(Duration::from_secs(899)))));
    assert_eq!(bar(100, -1_000_000), Some(Barred::Locked));
}

#[test]
fn sent_codes_are_for_their_action_and_accepted_once() {
    let store = store(|view| {
        view.put(sent("", "1234567"));
        view.put(sent("pay", "7654321"));
        view.put(SentCode { wrong_tries: 5, ..sent("void", "1111111") });
        view.put(SentCode { expires_at: NOW, ..sent("old", "12345678") });
    });
    assert_eq!(verdict(&store, login("7654321", "")), "wrong [Code] Some(\"other_action\")");
    assert_eq!(verdict(&store, login("1111111", "void")), "wrong [Code] Some(\"too_many_tries\")");
    assert_eq!(verdict(&store, login("2222222", "")), "wrong [Code] None");
    assert_eq!(verdict(&store, login("12345678", "old")), "wrong [] None", "it has expired");
    assert_eq!(verdict(&store, login("123456", "")), "wrong [] None", "none is as long");
    assert_eq!(wrong(&store), [3, 0, 0]);
    assert_eq!(verdict(&store, login("1234567", "")), "right Code");
    assert_eq!(wrong(&store), [0, 0, 0]);
    assert_eq!(verdict(&store, login("1234567", "")), "used");
    assert_eq!(verdict(&store, login("1234567", "pay")), "wrong [Code] None");
    let codes = store.look(|view| view.all::<SentCode>((ada().key(),))).unwrap();
    let kept: Vec<_> =
        codes.iter().map(|code| (&*code.action, code.wrong_tries, code.spent)).collect();
    assert_eq!(kept, [("", 3, true), ("old", 0, false), ("pay", 4, false), ("void", 5, false)]);
}

#[test]
fn each_step_of_an_app_is_accepted_once_and_a_new_app_replaces_earlier_ones() {
    let store = store(|view| {
        view.put(app(1, Some(STEP)));
        view.put(Authenticator { device_id: Some(9), ..app(2, Some(STEP)) });
        view.put(Authenticator { secret: vec![3; 20].into(), ..app(3, None) });
    });
    assert_eq!(verdict(&store, login(&code_of_app(STEP), "")), "used");
    assert_eq!(verdict(&store, login(&code_of_app(STEP + 1), "any")), "right Authenticator");
    assert_eq!(verdict(&store, login(&code_of_app(STEP + 2), "")), "wrong [Authenticator] None");
    assert_eq!(verdict(&store, login(&code_of_app(STEP - 1), "")), "used");
    assert_eq!(wrong(&store), [0, 1, 0]);
    let ids = |store: &Store| {
        let apps = store.look(|view| view.all::<Authenticator>((ADA,))).unwrap();
        apps.iter().map(|app| (app.authenticator_id, app.last_step)).collect::<Vec<_>>()
    };
    assert_eq!(ids(&store), [(1, Some(STEP + 1)), (2, Some(STEP)), (3, None)]);
    let totp = Totp::new(&[3; 20], Algorithm::Sha1, 6, 30).unwrap();
    let code = totp.code(STEP * 30).expose().to_owned();
    assert_eq!(verdict(&store, first(&code, None)), "right Authenticator");
    assert_eq!(ids(&store), [(2, Some(STEP)), (3, Some(STEP))]);
    assert_eq!(verdict(&store, first(&code, None)), "none pending");
}

#[test]
fn the_first_code_of_an_app_may_be_decided_by_a_sandbox() {
    let store = store(|view| view.put(app(1, None)));
    assert_eq!(verdict(&store, first("123456", Some(false))), "wrong [] None");
    assert_eq!(verdict(&store, first("1234567", None)), "wrong [] None");
    assert_eq!(verdict(&store, first("000000", None)), "wrong [Authenticator] None");
    assert_eq!(verdict(&store, first("1234567", Some(true))), "right Authenticator");
    let row = store.look(|view| view.get::<Authenticator>((ADA, 1_i64))).unwrap();
    assert_eq!(row.and_then(|row| row.last_step), Some(STEP));
}

#[test]
fn a_code_that_was_accepted_last_is_a_proof_for_a_while_and_stays_spent() {
    let guess = || Guess::Accepted(code_of_app(STEP).parse().unwrap());
    let store = store(|view| view.put(app(1, Some(STEP))));
    let end = Time(0).plus(Duration::from_secs((STEP + 1) * 30) + limits::OFFLINE_PROOF);
    let last = end.minus(Duration::from_secs(1));
    assert_eq!(verdict_at(&store, guess(), last), "right Authenticator");
    assert_eq!(verdict_at(&store, guess(), end), "wrong [Authenticator] None");
    assert_eq!(verdict_at(&store, guess(), last), "right Authenticator");
    assert_eq!(wrong(&store), [0, 1, 0], "it is no new code");
    assert_eq!(
        verdict(&store, Guess::Accepted("1".repeat(7).parse().unwrap())),
        "wrong [Authenticator] None"
    );
}

#[test]
fn a_recovery_code_is_hashed_with_the_salt_of_its_set_and_accepted_once() {
    let none = store(|_| {});
    let unhashed = || Guess::Recovery { hashed: None, force: false };
    assert_eq!(verdict(&none, unhashed()), "wrong [] None");
    let store = store(|view| view.put(recovery(false)));
    assert_eq!(verdict(&store, unhashed()), "unhashed");
    assert_eq!(verdict(&store, hashed(7, 2)), "unhashed", "the set was replaced");
    assert_eq!(verdict(&store, hashed(8, 1)), "wrong [Recovery] None");
    assert_eq!(wrong(&store), [0, 0, 1]);
    assert_eq!(verdict(&store, hashed(7, 1)), "right Recovery");
    assert_eq!(verdict(&store, hashed(7, 1)), "used");
    assert_eq!(wrong(&store), [0, 0, 0]);
}

#[test]
fn users_who_are_not_confirmed_are_checked_if_the_call_forces_it() {
    let store = store(|view| {
        view.put(User { confirmed: false, ..user() });
        view.put(recovery(false));
    });
    assert_eq!(verdict(&store, login("1234567", "")), "not confirmed");
    assert_eq!(verdict(&store, hashed(7, 1)), "not confirmed");
    let (typed, action) = ("1234567".parse().unwrap(), String::new());
    let forced = Guess::Login { typed, action, force: true, tries: limits::TRIES };
    assert_eq!(verdict(&store, forced), "wrong [] None");
    let forced = Guess::Recovery { hashed: None, force: true };
    assert_eq!(verdict(&store, forced), "unhashed");
}

#[test]
fn the_code_of_a_number_is_checked_while_it_is_pending() {
    let number = || Subject::Phone(1, "+15550100123".into());
    let verdict = |store: &Store, typed: &str, sandbox| {
        let guess = Guess::Number { typed: typed.parse().unwrap(), sandbox, tries: 5 };
        let now = Now { clock: NOW, steady: NOW };
        let of =
            Circumstances { address: WrongFromAddress::default(), counted: Counted::Nowhere, now };
        match store.run(move |view| check(view, &number(), &guess, &of)).unwrap() {
            Checked::NonePending => "none pending",
            Checked::Wrong(factors, _) if factors.is_empty() => "wrong, and not counted",
            Checked::Wrong(..) => "wrong",
            Checked::Right(..) => "right",
            _ => "another",
        }
    };
    let none = store(|_| {});
    assert_eq!(verdict(&none, "0000", None), "none pending");
    assert_eq!(verdict(&none, "0000", Some("0000")), "right");
    assert_eq!(verdict(&none, "0001", Some("0000")), "none pending");
    for sandbox in [None, Some("0000")] {
        let pending = || {
            store(move |view| {
                view.put(SentCode { subject: number().key(), ..sent("", "1234567") });
            })
        };
        let (right, wrong) = match sandbox {
            None => ("wrong", "wrong"),
            Some(_) => ("right", "wrong, and not counted"),
        };
        assert_eq!(verdict(&pending(), "0000", sandbox), right);
        assert_eq!(verdict(&pending(), "7654321", sandbox), wrong);
        assert_eq!(verdict(&pending(), "1234567", sandbox), "right");
        let store = pending();
        assert_eq!(verdict(&store, "1234567", sandbox), "right");
        assert_eq!(verdict(&store, "1234567", sandbox), "none pending");
    }
}

#[test]
fn of_several_bars_one_is_shown() {
    let store = store(|view| {
        view.put(sent("", "123456"));
        view.put(app(1, None));
        view.put(recovery(false));
        let now = Now { clock: NOW, steady: NOW };
        for factor in [Factor::Code, Factor::Recovery] {
            view.put(FactorState::locked(ada().key(), factor, now));
        }
    });
    let address = WrongFromAddress::new(1, "192.0.2.1", 1, NOW);
    // The other factor may still be tried, and is the only one that counts.
    let guess = || login("000000", "");
    assert_eq!(verdict_from(&store, guess(), NOW, &address), "wrong [Authenticator] None");
    let barred = verdict_from(&store, guess(), NOW, &address);
    assert!(barred.starts_with("Address"), "{barred}");
    let barred = verdict_from(&store, hashed(7, 1), NOW, &address);
    assert!(
        barred.starts_with("Address"),
        "a slow hash is made for nobody who is barred: {barred}"
    );
    assert_eq!(verdict(&store, hashed(7, 1)), "Locked");
    let lock = store.run(|view| {
        let now = Now { clock: NOW, steady: NOW };
        view.all::<FactorState>((ada().key(),))?;
        view.put(FactorState::locked(ada().key(), Factor::Authenticator, now));
        Ok(())
    });
    lock.unwrap();
    assert_eq!(verdict_from(&store, guess(), NOW, &address), "Locked");
    let lock = store.run(|view| {
        view.get::<User>((ADA,))?;
        view.put(User { locked_at: Some(NOW), ..user() });
        Ok(())
    });
    lock.unwrap();
    assert_eq!(verdict_from(&store, hashed(7, 1), NOW, &address), "Account");
    assert_eq!(verdict(&store, first("123456", None)), "Account");
}
