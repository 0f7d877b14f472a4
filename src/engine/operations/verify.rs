//! Committing the result of a check, in the decision that made it.

use super::addresses::WrongFromAddress;
use super::{Subject, browsers, completions, count, offline, user};
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::limits::MOST_WRONG;
use crate::engine::store::{
    Authenticator, Decided, NumberCheck, RecoveryCode, SentCode, User, View,
};
use crate::model::UserId;
use std::time::Duration;

/// The factors that protect a user. Wrong codes are counted separately for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Factor {
    Code,
    Authenticator,
    Recovery,
}

/// The consecutive wrong codes of a factor since its last right one.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::engine) struct WrongAnswers {
    pub(in crate::engine) in_a_row: u32,
    pub(in crate::engine) last_at: Option<Time>,
}

/// The reason why codes of a factor are rejected without a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Barred {
    Until(Time),
    /// Until the user is unlocked.
    Locked,
    /// An operator has locked the user.
    Account,
    /// Until then, for any user, because so many wrong codes came from the address.
    Address(Time),
}

impl Barred {
    /// Returns the bar that ends first.
    pub(in crate::engine) fn first(self, other: Barred) -> Barred {
        match (self, other) {
            (Barred::Until(one), Barred::Until(other)) => Barred::Until(one.min(other)),
            (Barred::Account, _) | (_, Barred::Account) => Barred::Account,
            (Barred::Locked, other) | (other, Barred::Locked) => other,
            (address @ Barred::Address(_), _) | (_, address) => address,
        }
    }
}

impl WrongAnswers {
    pub(in crate::engine) fn are_too_many(self) -> bool {
        self.in_a_row >= MOST_WRONG
    }

    /// Is set if no code is looked at now.
    pub(in crate::engine) fn bar(self, delay: fn(u32) -> Duration, now: Now) -> Option<Barred> {
        if self.are_too_many() {
            return Some(Barred::Locked);
        }
        let delay = delay(self.in_a_row);
        let last = self.last_at?;
        // Another process may be a moment ahead, which must not turn no delay into a wait.
        let next = (!delay.is_zero()).then(|| last.plus(delay));
        next.filter(|next| *next > now.steady).map(Barred::Until)
    }

    fn one_more(self, now: Now) -> WrongAnswers {
        WrongAnswers { in_a_row: self.in_a_row.saturating_add(1), last_at: Some(now.steady) }
    }
}

impl User {
    /// Is set if an operator has locked the user.
    pub(in crate::engine) fn bar(&self) -> Option<Barred> {
        self.locked_at.map(|_| Barred::Account)
    }

    pub(in crate::engine) fn wrong(&self, factor: Factor) -> WrongAnswers {
        let (in_a_row, last_at) = match factor {
            Factor::Code => (self.wrong_codes, self.wrong_codes_at),
            Factor::Authenticator => (self.wrong_app_codes, self.wrong_app_codes_at),
            Factor::Recovery => (self.wrong_recovery_codes, self.wrong_recovery_codes_at),
        };
        WrongAnswers { in_a_row, last_at }
    }

    /// Has no code of a factor be looked at until the user is unlocked.
    pub(in crate::engine) fn lock(&mut self, factor: Factor, now: Now) {
        let wrong = WrongAnswers { in_a_row: MOST_WRONG, last_at: Some(now.steady) };
        self.set_wrong(factor, wrong);
    }

    /// Restarts the counts of every factor.
    pub(in crate::engine) fn unlock(&mut self) {
        for factor in [Factor::Code, Factor::Authenticator, Factor::Recovery] {
            self.set_wrong(factor, WrongAnswers::default());
        }
    }

    fn set_wrong(&mut self, factor: Factor, WrongAnswers { in_a_row, last_at }: WrongAnswers) {
        match factor {
            Factor::Code => (self.wrong_codes, self.wrong_codes_at) = (in_a_row, last_at),
            Factor::Authenticator => {
                (self.wrong_app_codes, self.wrong_app_codes_at) = (in_a_row, last_at);
            }
            Factor::Recovery => {
                (self.wrong_recovery_codes, self.wrong_recovery_codes_at) = (in_a_row, last_at);
            }
        }
    }
}

/// Everything that a code can be compared with.
pub(in crate::engine) struct VerifyState {
    pub(in crate::engine) subject: Subject,
    /// The country of the number to which codes are sent, if it is known and used codes are counted by country: all
    /// logins of a country would wait for one row.
    pub(in crate::engine) country: Option<u16>,
    owner: Owner,
    pub(in crate::engine) codes: Vec<SentCode>,
    /// Oldest first.
    pub(in crate::engine) authenticators: Vec<EnrolledApp>,
}

/// The owner of the codes.
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
enum Owner {
    User(User),
    Number(Option<NumberCheck>),
}

/// An authenticator app, and the later steps that a machine has accepted without the service.
pub(in crate::engine) struct EnrolledApp {
    pub(in crate::engine) row: Authenticator,
    pub(in crate::engine) used_after: Vec<u64>,
}

impl VerifyState {
    pub(in crate::engine) fn confirmed(&self) -> bool {
        matches!(&self.owner, Owner::User(user) if user.confirmed)
    }

    /// Returns the time at which the user was enrolled.
    pub(in crate::engine) fn created_at(&self) -> Option<Time> {
        match &self.owner {
            Owner::User(user) => Some(user.created_at),
            Owner::Number(_) => None,
        }
    }

    /// Is set if an operator has locked the user.
    pub(in crate::engine) fn bar_of_account(&self) -> Option<Barred> {
        match &self.owner {
            Owner::User(user) => user.bar(),
            Owner::Number(_) => None,
        }
    }

    /// Returns the bar if codes of a factor are rejected without a comparison now. A number cannot be unlocked, so its
    /// bar ends when its verifications are forgotten.
    pub(in crate::engine) fn bar(
        &self,
        factor: Factor,
        delay: fn(u32) -> Duration,
        now: Now,
    ) -> Option<Barred> {
        if let Some(barred) = self.bar_of_account() {
            return Some(barred);
        }
        match (self.wrong(factor).bar(delay, now)?, &self.owner) {
            (Barred::Locked, Owner::Number(Some(check))) => Some(Barred::Until(check.forget_at)),
            (barred, _) => Some(barred),
        }
    }

    fn wrong(&self, factor: Factor) -> WrongAnswers {
        match &self.owner {
            Owner::User(user) => user.wrong(factor),
            Owner::Number(Some(check)) => {
                WrongAnswers { in_a_row: check.wrong_codes, last_at: check.wrong_codes_at }
            }
            Owner::Number(None) => WrongAnswers::default(),
        }
    }

    fn set_wrong(&mut self, factor: Factor, wrong: WrongAnswers) {
        match &mut self.owner {
            Owner::User(user) => user.set_wrong(factor, wrong),
            Owner::Number(Some(check)) => {
                (check.wrong_codes, check.wrong_codes_at) = (wrong.in_a_row, wrong.last_at);
            }
            Owner::Number(None) => {}
        }
    }
}

/// Everything that a code of this subject can be compared with, if there is such a user.
pub(in crate::engine) fn state(view: &mut View, subject: &Subject) -> Decided<Option<VerifyState>> {
    let key = subject.key();
    view.ask::<SentCode>((key.clone(),));
    let (owner, authenticators) = match subject {
        Subject::User(app, user_id) => {
            let id = user_id.get();
            view.ask::<User>((id,));
            view.ask::<Authenticator>((id,));
            let Some(user) = user(view, *app, *user_id)? else { return Ok(None) };
            let mut apps = Vec::new();
            for row in view.all::<Authenticator>((id,))? {
                let used_after = offline::used_after(view, &row)?;
                apps.push(EnrolledApp { row, used_after });
            }
            (Owner::User(user), apps)
        }
        Subject::Phone(..) => {
            let check = view.get::<NumberCheck>((key.clone(),))?;
            (Owner::Number(check), Vec::new())
        }
    };
    let codes = view.all::<SentCode>((key,))?;
    let country = match &owner {
        Owner::User(user) => Some(user.country_code).filter(|code| *code > 0),
        Owner::Number(_) => None,
    };
    Ok(Some(VerifyState { subject: subject.clone(), country, owner, codes, authenticators }))
}

/// The result of comparing a token.
#[derive(Clone)]
pub(in crate::engine) enum Match {
    /// A valid code, for this action, and the route by which it was sent.
    Code { action: String, route: Option<String> },
    /// A step of an authenticator app that was not accepted before.
    Step { authenticator_id: i64, step: u64 },
    /// A recovery code that was not used.
    Recovery { hash: Vec<u8> },
    /// No match in these factors. Each valid code that the token was compared with, by its action,
    /// loses a try.
    Nothing { factors: Vec<Factor>, compared: Vec<String> },
}

impl Match {
    pub(in crate::engine) fn factors(&self) -> Vec<Factor> {
        match self {
            Match::Code { .. } => vec![Factor::Code],
            Match::Step { .. } => vec![Factor::Authenticator],
            Match::Recovery { .. } => vec![Factor::Recovery],
            Match::Nothing { factors, .. } => factors.clone(),
        }
    }
}

/// Accepts a code, or counts a wrong one. A code is compared at most as often as it has tries, however
/// many attempts race: each attempt sees the changes of the ones before it. Returns why, if the code
/// must not be looked at; nothing is changed then. A wrong one counts for its address too.
pub(in crate::engine) fn commit(
    view: &mut View,
    mut state: VerifyState,
    found: &Match,
    address: &WrongFromAddress,
    now: Now,
    delay: fn(u32) -> Duration,
) -> Decided<Option<Barred>> {
    if let Some(barred) = address.bar(view)? {
        return Ok(Some(barred));
    }
    let factors = found.factors();
    for factor in &factors {
        if let Some(barred) = state.bar(*factor, delay, now) {
            return Ok(Some(barred));
        }
    }
    match found {
        Match::Nothing { compared, .. } => {
            address.count(view)?;
            for factor in factors {
                state.set_wrong(factor, state.wrong(factor).one_more(now));
            }
            for mut code in state.codes.drain(..).filter(|code| compared.contains(&code.action)) {
                code.wrong_tries += 1;
                view.put(code);
            }
        }
        found => {
            use_up(view, &mut state, found, now)?;
            state.set_wrong(factors[0], WrongAnswers::default());
            accept(view, &mut state, found, now);
        }
    }
    match state.owner {
        Owner::User(user) => view.put(user),
        Owner::Number(Some(check)) => view.put(check),
        Owner::Number(None) => {}
    }
    Ok(None)
}

/// Uses a code up, so that it is not accepted again.
fn use_up(view: &mut View, state: &mut VerifyState, found: &Match, now: Now) -> Decided<()> {
    match found {
        Match::Code { action, .. } => {
            for mut code in state.codes.drain(..).filter(|code| code.action == *action) {
                code.spent = true;
                view.put(code);
            }
            if let Some(country) = state.country {
                let is_new = completions::is_new(view, &state.subject)?;
                completions::used(view, state.subject.app(), country, is_new, now.steady)?;
            }
        }
        Match::Step { authenticator_id, step } => {
            for app in &state.authenticators {
                let mut row = app.row.clone();
                if row.authenticator_id == *authenticator_id {
                    (row.last_step, row.used_at) = (Some(*step), Some(now.steady));
                    view.put(row);
                }
            }
        }
        Match::Recovery { hash } => {
            if let Subject::User(_, user_id) = &state.subject
                && let Some(mut code) = view.get::<RecoveryCode>((user_id.get(), hash.clone()))?
            {
                code.spent = true;
                view.put(code);
            }
        }
        Match::Nothing { .. } => {}
    }
    Ok(())
}

/// Applies the other effects of a right code.
fn accept(view: &mut View, state: &mut VerifyState, found: &Match, now: Now) {
    match &mut state.owner {
        Owner::User(user) => {
            user.confirmed = true;
            user.sms_used |= matches!(found, Match::Code { .. });
        }
        Owner::Number(Some(check)) => check.verified = true,
        Owner::Number(None) => {}
    }
    if let Subject::User(_, user_id) = &state.subject {
        forget_where_lost(view, *user_id, &state.authenticators, found);
    }
    count(view, state.subject.app(), now, |counted| counted.auths += 1);
}

/// Forgets the user's browsers where a phone has probably been lost, with one on it that is remembered.
fn forget_where_lost(view: &mut View, user_id: UserId, apps: &[EnrolledApp], found: &Match) {
    match found {
        Match::Recovery { .. } => browsers::forget_those_of(view, user_id),
        Match::Step { authenticator_id, .. } => {
            let of_id = |app: &&EnrolledApp| app.row.authenticator_id == *authenticator_id;
            if !apps.iter().find(of_id).is_some_and(|app| app.row.is_pending()) {
                return;
            }
            // By its first code: the app evidently has this secret, so earlier ones are obsolete.
            let earlier = apps.iter().filter(|app| app.row.is_app());
            let earlier = earlier.filter(|app| app.row.authenticator_id < *authenticator_id);
            let mut replaced = false;
            for app in earlier {
                view.delete(&app.row);
                replaced = true;
            }
            if replaced {
                browsers::forget_those_of(view, user_id);
            }
        }
        Match::Code { .. } | Match::Nothing { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::limits;
    use crate::engine::store::{Memory, Store};

    const NOW: Now = Now { clock: Time(0), steady: Time(0) };

    fn subject() -> Subject {
        Subject::Phone(1, "+15550100123".into())
    }

    /// Issues a code for each of these actions.
    fn issue(store: &Store, actions: &'static [&'static str]) {
        let sent = store.run(move |view| {
            for action in actions {
                view.put(SentCode {
                    subject: subject().key(),
                    action: (*action).to_owned(),
                    code: "1234567".into(),
                    expires_at: Time(1000),
                    sends: 1,
                    wrong_tries: 0,
                    spent: false,
                    sms_at: Time(0),
                    call_at: Time(0),
                    route: None,
                });
            }
            view.put(NumberCheck {
                subject: subject().key(),
                app_id: 1,
                uuid: String::new(),
                expires_at: Time(1000),
                forget_at: Time(1000),
                verified: false,
                wrong_codes: 0,
                wrong_codes_at: None,
            });
            Ok(())
        });
        sent.unwrap();
    }

    /// Looks at the code of an action as a check does: only while it lives.
    fn guess(store: &Store, action: &'static str) -> bool {
        let looked = store.run(move |view| {
            let state = state(view, &subject())?.expect("a number has a state");
            let lives = state
                .codes
                .iter()
                .any(|code| code.action == action && code.lives(NOW, limits::TRIES));
            if lives {
                let compared = vec![action.to_owned()];
                let wrong = Match::Nothing { factors: vec![Factor::Code], compared };
                let address = WrongFromAddress::default();
                commit(view, state, &wrong, &address, NOW, |_| Duration::ZERO)?;
            }
            Ok(lives)
        });
        looked.unwrap()
    }

    fn tries(store: &Store) -> (Vec<u32>, u32) {
        let state = store.look(|view| state(view, &subject())).unwrap().unwrap();
        let tries = state.codes.iter().map(|code| code.wrong_tries).collect();
        (tries, state.wrong(Factor::Code).in_a_row)
    }

    #[test]
    fn at_most_five_guesses_of_a_code_are_looked_at_however_many_race() {
        let store = Store::new(Memory::new());
        issue(&store, &["", "pay"]);
        let looked: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..64).map(|_| scope.spawn(|| guess(&store, ""))).collect();
            threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
        });
        assert_eq!(looked, limits::TRIES as usize);
        assert_eq!(tries(&store), (vec![5, 0], 5), "it takes no other code's try either");
        assert!(guess(&store, "pay"));
        assert_eq!(tries(&store), (vec![5, 1], 6));
    }
}
