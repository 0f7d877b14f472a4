//! Spending a right code, and charging a wrong guess.

use super::guess::Charge;
use super::matched::{Counted, Match};
use super::state::{EnrolledApp, Owner, VerifyState};
use crate::engine::model::clock::Now;
use crate::engine::operations::{Subject, browsers, completions, count};
use crate::engine::store::{Decided, FactorState, RecoveryCode, View};
use crate::model::UserId;

/// Counts a wrong guess for each factor, and takes a try from each code that it was compared with.
pub(super) fn charge(view: &mut View, state: VerifyState, charge: Charge, now: Now) {
    for factor in charge.factors {
        let wrong = state.wrong(factor).in_a_row.saturating_add(1);
        view.put(FactorState::new(state.subject.key(), factor, wrong, now));
    }
    for mut code in state.codes.into_iter().filter(|code| charge.actions.contains(&code.action)) {
        code.wrong_tries += 1;
        view.put(code);
    }
}

/// Uses a code up, so that it is not accepted again, and applies the other effects of a right code.
pub(super) fn spend(
    view: &mut View,
    mut state: VerifyState,
    found: &Match,
    counted: Counted,
    now: Now,
) -> Decided<()> {
    match found {
        Match::Code { action, .. } => {
            for mut code in state.codes.drain(..).filter(|code| code.action == *action) {
                code.spent = true;
                view.put(code);
            }
            if let Some(country) = state.country(counted) {
                let is_new = completions::is_new(view, &state.subject)?;
                completions::used(view, state.subject.app(), country, is_new, now.steady)?;
            }
        }
        Match::Step { authenticator_id, step, .. } => {
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
        // It was spent before, and lets nobody in.
        Match::Shown { .. } => return Ok(()),
    }
    let of_factor = |row: &&FactorState| row.factor == found.factor().name();
    state.wrong.iter().filter(of_factor).for_each(|row| view.delete(row));
    if let Subject::User(_, user_id) = &state.subject {
        forget_where_lost(view, *user_id, &state.authenticators, found);
    }
    count(view, state.subject.app(), now, |counted| counted.auths += 1);
    match state.owner {
        Owner::User(mut user) => {
            user.confirmed = true;
            user.sms_used |= matches!(found, Match::Code { .. });
            view.put(user);
        }
        Owner::Number(Some(mut check)) => {
            check.verified = true;
            view.put(check);
        }
        Owner::Number(None) => {}
    }
    Ok(())
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
        Match::Code { .. } | Match::Shown { .. } => {}
    }
}
