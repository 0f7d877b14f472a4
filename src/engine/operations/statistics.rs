//! The counts of an application by month.

use super::AppId;
use crate::engine::store::{Decided, Statistics, View};
use std::collections::BTreeMap;

/// Returns the counts of each month from this one on, and the number of users.
pub(in crate::engine) fn statistics(
    view: &mut View,
    app: AppId,
    from: i64,
) -> Decided<(Vec<Statistics>, u64)> {
    let mut months: BTreeMap<i64, Statistics> = BTreeMap::new();
    let mut rows = view.all::<Statistics>((app,))?;
    rows.extend(view.counted().filter(|counted| counted.app_id == app).cloned());
    for row in rows {
        let sum = months.entry(row.month).or_insert_with(|| Statistics::none(app, row.month));
        sum.add(&row);
    }
    let users = months.get(&Statistics::TOTALS).map_or(0, |totals| totals.users);
    let months = months.into_values().filter(|row| row.month >= from);
    Ok((months.collect(), u64::try_from(users).unwrap_or(0)))
}

/// Returns the number of users that an application has. It is kept by those who add and delete users, in one row for
/// each node, and so costs the same for a million users as for one.
pub(in crate::engine) fn user_count(view: &mut View, app: AppId) -> Decided<u64> {
    let mut rows = view.all::<Statistics>((app, Statistics::TOTALS))?;
    let is_of = |row: &&Statistics| (row.app_id, row.month) == (app, Statistics::TOTALS);
    rows.extend(view.counted().filter(is_of).cloned());
    Ok(u64::try_from(rows.iter().map(|row| row.users).sum::<i64>()).unwrap_or(0))
}
