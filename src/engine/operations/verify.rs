//! The protocol by which every code is checked: of an app, a sent one, a recovery code, or that of a number.
//!
//! [`check`] finds the stored codes that a guess may be, determines what the guess costs if it is wrong, compares, and
//! either spends the code or charges the guess, in one decision. A factor without a bar is compared at most as often
//! as it may be, however many guesses race, because each decision sees the changes of the ones before it.

mod guess;
mod matched;
mod spend;
mod state;
#[cfg(test)]
mod verdicts;
mod wrong;

pub(in crate::engine) use guess::{Guess, Hashed};
pub(in crate::engine) use matched::{Counted, Match};
pub(in crate::engine) use wrong::WrongAnswers;

use super::Subject;
use super::addresses::WrongFromAddress;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::factors::{Barred, Factor};
use crate::engine::store::{Decided, Sealed, View};
use guess::Compared;
use state::state;

/// The outcome of a check. Only `Right` lets anyone in.
#[derive(Clone)]
pub(in crate::engine) enum Checked {
    NoUser,
    /// The user is not confirmed yet, and nothing was compared.
    NotConfirmed,
    /// There is no number's code, or no new app, that the guess could be of.
    NonePending,
    /// The guess has to be hashed with this salt before it can be compared.
    Unhashed(Sealed<Vec<u8>>),
    /// No code is looked at of any factor that the guess may belong to.
    Barred(Barred),
    /// The code was accepted before. Nothing is counted.
    Used,
    /// The factors that have counted the guess, and the reason for the audit.
    Wrong(Vec<Factor>, Option<&'static str>),
    /// The code that was spent, and when the user was enrolled.
    Right(Match, Option<Time>),
}

/// The place of a guess: from where and when, and for which country a used code is counted.
#[derive(Clone)]
pub(in crate::engine) struct Circumstances {
    /// The count of wrong codes from the address.
    pub(in crate::engine) address: WrongFromAddress,
    pub(in crate::engine) counted: Counted,
    pub(in crate::engine) now: Now,
}

/// Checks a guess, and spends the code that it is, or charges it.
pub(in crate::engine) fn check(
    view: &mut View,
    subject: &Subject,
    guess: &Guess,
    Circumstances { address, counted, now }: &Circumstances,
) -> Decided<Checked> {
    let now = *now;
    address.ask(view);
    let Some(state) = state(view, subject, guess)? else { return Ok(Checked::NoUser) };
    if let Some(barred) = state.bar_of_account() {
        return Ok(Checked::Barred(barred));
    }
    if !state.confirmed() && guess.needs_confirmed() {
        return Ok(Checked::NotConfirmed);
    }
    let Some(mut candidates) = guess.candidates(&state, now)? else {
        return Ok(match guess.is_right_without() {
            Some(found) => Checked::Right(found, None),
            None => Checked::NonePending,
        });
    };
    // A slow guess is not hashed for an address that has to wait.
    if guess.is_slow()
        && let Some(barred) = address.bar(view)?
    {
        return Ok(Checked::Barred(barred));
    }
    let mut bars = Vec::new();
    candidates.retain(|of| {
        let barred = state.bar(of.factor(), now);
        bars.extend(barred);
        barred.is_none()
    });
    if candidates.is_empty()
        && let Some(barred) = bars.into_iter().reduce(Barred::first)
    {
        return Ok(Checked::Barred(barred));
    }
    if let Some(salt) = guess.unhashed(&candidates) {
        return Ok(Checked::Unhashed(salt));
    }
    let charge = guess.charge(&candidates, now);
    let found = match guess.compare_all(&candidates, now)? {
        Compared::Used => return Ok(Checked::Used),
        Compared::Right(found) => Ok(found),
        Compared::Nothing(reason) => Err(reason),
    };
    if let Some(barred) = address.bar(view)? {
        return Ok(Checked::Barred(barred));
    }
    Ok(match found {
        Ok(found) => {
            let enrolled_at = state.created_at();
            spend::spend(view, state, &found, *counted, now)?;
            Checked::Right(found, enrolled_at)
        }
        Err(reason) => {
            address.count(view)?;
            let factors = charge.factors.clone();
            spend::charge(view, state, charge, now);
            Checked::Wrong(factors, reason)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::limits;
    use crate::engine::store::{FactorState, Memory, NumberCheck, SentCode, Store};
    use std::sync::atomic::{AtomicI64, Ordering};

    const END: Time = Time(3_600_000);

    fn subject() -> Subject {
        Subject::Phone(1, "+15550100123".into())
    }

    /// Issues a code for each of these actions.
    fn issue(store: &Store, actions: &'static [&'static str]) {
        let sent = store.run(move |view| {
            for action in actions {
                view.put(SentCode::issued(&subject(), action, END));
            }
            view.put(NumberCheck {
                subject: subject().key(),
                app_id: 1,
                uuid: String::new(),
                expires_at: END,
                forget_at: END,
                verified: false,
            });
            Ok(())
        });
        sent.unwrap();
    }

    /// Guesses at the codes, once no earlier guess makes this one wait. Returns whether it was compared.
    fn guess(store: &Store) -> bool {
        static SECONDS: AtomicI64 = AtomicI64::new(0);
        loop {
            let guess = Guess::Number {
                typed: "0000000".parse().unwrap(),
                sandbox: None,
                tries: limits::TRIES,
            };
            let at = Time(1000 * SECONDS.fetch_add(1, Ordering::Relaxed));
            let now = Now { clock: at, steady: at };
            let address = WrongFromAddress::default();
            let of = Circumstances { address, counted: Counted::Nowhere, now };
            match store.run(move |view| check(view, &subject(), &guess, &of)).unwrap() {
                Checked::Barred(Barred::Until(_)) => {}
                Checked::Wrong(factors, None) => return factors == [Factor::Code],
                checked => return !matches!(checked, Checked::NonePending),
            }
        }
    }

    fn tries(store: &Store) -> (Vec<u32>, u32) {
        let found = store.look(|view| {
            let wrong = view.all::<FactorState>((subject().key(),))?;
            let wrong = WrongAnswers::of(&wrong, Factor::Code).in_a_row;
            Ok((view.all::<SentCode>((subject().key(),))?, wrong))
        });
        let (codes, wrong) = found.unwrap();
        (codes.iter().map(|code| code.wrong_tries).collect(), wrong)
    }

    #[test]
    fn at_most_five_guesses_of_a_code_are_compared_however_many_race() {
        let store = Store::new(Memory::new());
        issue(&store, &["", "pay"]);
        assert!(guess(&store));
        assert_eq!(tries(&store), (vec![1, 0], 1), "it takes no other code's try");
        let looked: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..64).map(|_| scope.spawn(|| guess(&store))).collect();
            threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
        });
        assert_eq!(looked, 2 * limits::TRIES as usize - 1);
        assert_eq!(tries(&store), (vec![5, 5], 10));
    }
}
