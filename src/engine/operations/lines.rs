//! Look-ups of the lines behind numbers: kept results of providers, and the number of look-ups of
//! an application on a day. A look-up is counted in the transaction that allows it, so the limit is
//! exact.

use super::AppId;
use super::budgets::{self, Over, Sending};
use crate::engine::model::clock::Time;
use crate::engine::model::lines::PhoneLine;
use crate::engine::store::{Decided, KeptLine, View};

/// The line of a number, as an application knows it.
#[derive(Clone)]
pub(in crate::engine) struct LineKey {
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) number_hash: [u8; 32],
}

/// A look-up that a call asks for.
#[derive(Clone)]
pub(in crate::engine) struct Wanted {
    pub(in crate::engine) key: LineKey,
    /// The number of look-ups allowed on a day; `None` in a sandbox without limits.
    pub(in crate::engine) most: Option<u32>,
    /// The message that the number is looked up for. If it is over a limit, no look-up is needed.
    pub(in crate::engine) message: Option<Sending>,
    /// The steady time.
    pub(in crate::engine) now: Time,
}

pub(in crate::engine) enum Allowance {
    /// The kept result of an earlier look-up.
    Kept(PhoneLine),
    /// It is counted, and the provider can be asked.
    Allowed,
    /// Nothing will be sent, so it does not matter.
    NotNeeded,
    Over(Over),
}

/// Returns the kept result of an earlier look-up.
pub(in crate::engine) fn find(
    view: &mut View,
    key: &LineKey,
    now: Time,
) -> Decided<Option<PhoneLine>> {
    let row = view.get::<KeptLine>((key.app, key.number_hash.to_vec()))?;
    Ok(row.filter(|row| row.expires_at > now).map(|row| PhoneLine {
        carrier: row.carrier,
        kind: row.kind.as_deref().and_then(|name| name.parse().ok()),
        ported: row.ported,
    }))
}

/// Decides whether the provider is asked.
pub(in crate::engine) fn ask(view: &mut View, wanted: &Wanted) -> Decided<Allowance> {
    if let Some(line) = find(view, &wanted.key, wanted.now)? {
        return Ok(Allowance::Kept(line));
    }
    if let Some(message) = &wanted.message
        && message.is_over(view)?
    {
        return Ok(Allowance::NotNeeded);
    }
    let Some(most) = wanted.most else { return Ok(Allowance::Allowed) };
    Ok(match budgets::spend_lookup(view, wanted.key.app, most, wanted.now)? {
        Ok(()) => Allowance::Allowed,
        Err(over) => Allowance::Over(over),
    })
}

/// Keeps the provider's result, in place of the one that another call may have kept meanwhile.
pub(in crate::engine) fn keep(
    view: &mut View,
    key: &LineKey,
    line: &PhoneLine,
    expires_at: Time,
) -> Decided<()> {
    let number_hash = key.number_hash.to_vec();
    // It is loaded to be replaced.
    view.get::<KeptLine>((key.app, number_hash.clone()))?;
    view.put(KeptLine {
        app_id: key.app,
        number_hash,
        carrier: line.carrier.clone(),
        kind: line.kind.map(|kind| kind.name().to_owned()),
        ported: line.ported,
        expires_at,
    });
    Ok(())
}
