//! Logins that machines accept while the service is unreachable.

use super::{AppId, count, user};
use crate::engine::model::clock::Now;
use crate::engine::store::{Activity, Authenticator, Decided, OfflineSteps, OfflineUse, View};
use crate::model::UserId;
use std::time::Duration;

/// The time for which codes that were used without the service are known.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The codes that a machine may accept without the service.
#[derive(Clone)]
pub(in crate::engine) struct Preparation {
    pub(in crate::engine) user_id: UserId,
    pub(in crate::engine) authenticator_id: i64,
    /// The step of the code that proves the user.
    pub(in crate::engine) step: u64,
    pub(in crate::engine) period: u64,
    pub(in crate::engine) first_step: u64,
    /// The first step that is not prepared.
    pub(in crate::engine) end_step: u64,
    /// Empty without a name.
    pub(in crate::engine) machine: String,
    /// The data to store.
    pub(in crate::engine) data: String,
    pub(in crate::engine) nonce: i64,
    pub(in crate::engine) now: Now,
}

/// Logins that were accepted without the service.
#[derive(Clone)]
pub(in crate::engine) struct Report {
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) user_id: UserId,
    pub(in crate::engine) authenticator_id: i64,
    /// Empty without a name.
    pub(in crate::engine) machine: String,
    pub(in crate::engine) logins: Vec<Login>,
    pub(in crate::engine) now: Now,
}

#[derive(Clone)]
pub(in crate::engine) struct Login {
    pub(in crate::engine) step: u64,
    /// The data to store.
    pub(in crate::engine) data: String,
    pub(in crate::engine) nonce: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Reported {
    /// The number of logins that were not reported before.
    Added(usize),
    NoUser,
    /// No machine was given the codes of these logins, or a step has not begun.
    NotPrepared,
}

/// Stores the codes that a machine may accept. Returns whether the step belongs to the last
/// accepted code, and has not prepared any yet.
pub(in crate::engine) fn prepare(view: &mut View, new: &Preparation) -> Decided<bool> {
    let id = new.user_id.get();
    let app = view.get::<Authenticator>((id, new.authenticator_id))?;
    let proven = |app: &Authenticator| {
        app.last_step == Some(new.step) && app.prepared_step.is_none_or(|last| last < new.step)
    };
    let Some(mut app) = app.filter(proven) else { return Ok(false) };
    app.prepared_step = Some(new.step);
    view.put(app);
    // Logins of the time before may not have been reported yet.
    let key = (id, new.authenticator_id, new.machine.clone());
    let steps = match view.get::<OfflineSteps>(key)? {
        Some(before) => OfflineSteps { end_step: before.end_step.max(new.end_step), ..before },
        None => OfflineSteps {
            user_id: id,
            authenticator_id: new.authenticator_id,
            machine: new.machine.clone(),
            period: new.period,
            first_step: new.first_step,
            end_step: new.end_step,
        },
    };
    view.put(steps);
    add_activity(view, id, "offline_prepared", &new.data, new.nonce, new.now);
    Ok(true)
}

/// Marks the codes as used, and stores the logins that were not reported before.
pub(in crate::engine) fn report(view: &mut View, report: &Report) -> Decided<Reported> {
    let id = report.user_id.get();
    if user(view, report.app, report.user_id)?.is_none() {
        return Ok(Reported::NoUser);
    }
    // A machine may have been given codes of an app that was replaced since.
    let prepared = view.all::<OfflineSteps>((id,))?;
    let of_app = |steps: &&OfflineSteps| steps.authenticator_id == report.authenticator_id;
    let Some(period) = prepared.iter().find(of_app).map(|steps| steps.period.max(1)) else {
        return Ok(Reported::NotPrepared);
    };
    let current = report.now.clock.seconds() / period;
    // The machine's clock, or the phone's, may be fast by a step.
    let is_prepared = |login: &Login| {
        login.step <= current.saturating_add(1)
            && prepared.iter().any(|of| (of.first_step..of.end_step).contains(&login.step))
    };
    if !report.logins.iter().all(is_prepared) {
        return Ok(Reported::NotPrepared);
    }
    // A step that has not begun would void the codes before it, which are still shown. It is used up
    // by itself, by its row.
    let steps = report.logins.iter().map(|login| login.step);
    let last = steps.filter(|step| *step <= current).max();
    if let Some(mut app) = view.get::<Authenticator>((id, report.authenticator_id))?
        && app.last_step.is_some_and(|before| last.is_some_and(|last| before < last))
    {
        app.last_step = last;
        view.put(app);
    }
    // A machine reports within days, so codes that were used long ago are not reported again.
    let old = current.saturating_sub(KEPT.as_secs() / period);
    for used in view.all::<OfflineUse>((id, report.authenticator_id))? {
        if used.step < old {
            view.delete(&used);
        }
    }
    let mut added = 0;
    for login in &report.logins {
        let key = (id, report.authenticator_id, login.step, report.machine.clone());
        if view.get::<OfflineUse>(key)?.is_some() {
            continue;
        }
        view.put(OfflineUse {
            user_id: id,
            authenticator_id: report.authenticator_id,
            step: login.step,
            machine: report.machine.clone(),
        });
        add_activity(view, id, "offline_login", &login.data, login.nonce, report.now);
        count(view, report.app, report.now, |counted| counted.auths += 1);
        added += 1;
    }
    Ok(Reported::Added(added))
}

fn add_activity(view: &mut View, user_id: u64, kind: &str, data: &str, nonce: i64, now: Now) {
    view.append(Activity {
        user_id,
        created_at: now.clock,
        nonce,
        kind: kind.to_owned(),
        data: data.to_owned(),
        user_ip: None,
    });
}

/// Returns the steps after the last one that were used without the service.
pub(super) fn used_after(view: &mut View, app: &Authenticator) -> Decided<Vec<u64>> {
    // Nothing can have been used that was not prepared.
    if app.prepared_step.is_none() {
        return Ok(Vec::new());
    }
    let used = view.all::<OfflineUse>((app.user_id, app.authenticator_id))?;
    let steps = used.into_iter().map(|used| used.step);
    Ok(steps.filter(|step| app.last_step.is_none_or(|last| *step > last)).collect())
}
