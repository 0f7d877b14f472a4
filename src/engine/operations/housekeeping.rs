//! Deleting what has expired, of all users: in small steps, for which no login waits.

use super::lookups::{self, Kind};
use crate::engine::clock::Time;
use crate::engine::store::{
    Audit, Browser, Budget, Decided, Job, NumberCheck, Row, SentCode, View,
};

/// Until when rows have expired.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Expired {
    pub(in crate::engine) now: Time,
    /// For decisions in the audit, by the clock.
    pub(in crate::engine) audit: Time,
}

/// Deletes rows that have expired, and at most so many. Returns how many it was.
///
/// Nothing that has expired is accepted, deleted or not. But a clock that is set back would revive
/// it, and the rows take space.
pub(in crate::engine) fn delete_expired(
    view: &mut View,
    until: Expired,
    most: u32,
) -> Decided<u32> {
    let Expired { now, audit } = until;
    let mut left = most;
    each::<SentCode>(view, now, &mut left, |_, _| {})?;
    // A message is not worth sending after its code.
    each::<Job>(view, now, &mut left, |_, _| {})?;
    each::<Browser>(view, now, &mut left, |_, _| {})?;
    each::<NumberCheck>(view, now, &mut left, |view, check| {
        lookups::remove(view, Kind::Verification, check.app_id, &check.uuid);
    })?;
    each::<Budget>(view, now, &mut left, |_, _| {})?;
    each::<Audit>(view, audit, &mut left, |_, _| {})?;
    Ok(most - left)
}

/// Deletes the rows of one table, each with what belongs to it.
fn each<R: Row>(
    view: &mut View,
    now: Time,
    left: &mut u32,
    along: impl Fn(&mut View, &R),
) -> Decided<()> {
    if *left == 0 {
        return Ok(());
    }
    for row in view.due::<R>(now, *left)? {
        along(view, &row);
        view.delete(&row);
        *left -= 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::store::{Memory, Store};

    const NOW: Time = Time(1_000_000_000);
    const EXPIRED: Expired = Expired { now: NOW, audit: NOW };

    fn browser(user_id: u64, expires_at: Time) -> Browser {
        let id_hash = vec![7; 32];
        Browser { user_id, id_hash, number: 1, created_at: Time(0), expires_at }
    }

    fn check(digits: u64) -> NumberCheck {
        NumberCheck {
            subject: format!("phone:1:+{digits}"),
            app_id: 1,
            uuid: digits.to_string(),
            expires_at: Time(0),
            forget_at: NOW,
            verified: false,
            wrong_codes: 0,
            wrong_codes_at: None,
        }
    }

    fn left(store: &Store) -> (usize, usize) {
        let browsers = store.look(|view| view.all::<Browser>(())).unwrap();
        let checks = store.look(|view| view.all::<NumberCheck>(())).unwrap();
        (browsers.len(), checks.len())
    }

    #[test]
    fn expired_rows_go_in_steps_and_others_stay() {
        let store = Store::new(Memory::new());
        let fill = store.run(|view| {
            (1..=8).for_each(|user| view.put(browser(user, NOW)));
            view.put(browser(9, Time(NOW.0 + 1)));
            (1..=4).for_each(|digits| view.put(check(digits)));
            (1..=4).for_each(|n: u64| {
                lookups::set(view, Kind::Verification, 1, &n.to_string(), n as i64);
            });
            Ok(())
        });
        fill.unwrap();
        let step = || store.run(|view| delete_expired(view, EXPIRED, 5)).unwrap();
        assert_eq!((step(), left(&store)), (5, (4, 4)));
        assert_eq!((step(), left(&store)), (5, (1, 2)));
        assert_eq!((step(), left(&store)), (2, (1, 0)));
        assert_eq!((step(), left(&store)), (0, (1, 0)));
        let found = store.look(|view| lookups::find(view, Kind::Verification, 1, "1"));
        assert_eq!(found.unwrap(), None);
    }
}
