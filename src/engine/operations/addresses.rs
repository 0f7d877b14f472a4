//! Limits wrong codes per `user_ip`, for all users of an application together. Each user has waits already, but one
//! address could try a few codes of very many users. Counted in the transaction that decides about a code.

use super::AppId;
use super::budgets::{HOUR, Over, Window, slide};
use crate::engine::model::clock::Time;
use crate::engine::model::factors::Barred;
use crate::engine::store::{Budget, Decided, View};

/// The count for the address of a call: the key of the row, the limit and the steady time. By default, there is
/// no address, and nothing is counted.
#[derive(Clone, Default)]
pub(in crate::engine) struct WrongFromAddress(Option<(String, u32, Time)>);

impl WrongFromAddress {
    pub(in crate::engine) fn new(app: AppId, network: &str, most: u32, now: Time) -> Self {
        WrongFromAddress((most > 0).then(|| (format!("wrong:{app}:{network}"), most, now)))
    }

    /// Has the row read together with others that a decision needs.
    pub(in crate::engine) fn ask(&self, view: &mut View) {
        if let Some((subject, ..)) = &self.0 {
            view.ask::<Budget>((subject.clone(),));
        }
    }

    /// Returns the wait of the address, if there were too many wrong codes from it.
    pub(in crate::engine) fn bar(&self, view: &mut View) -> Decided<Option<Barred>> {
        Ok(self.counted(view)?.err().and_then(|over| over.until).map(Barred::Address))
    }

    /// Counts a wrong code.
    pub(in crate::engine) fn count(&self, view: &mut View) -> Decided<()> {
        if let Ok(Some(row)) = self.counted(view)? {
            view.put(row);
        }
        Ok(())
    }

    fn counted(&self, view: &mut View) -> Decided<Result<Option<Budget>, Over>> {
        let Some((subject, most, now)) = self.0.clone() else { return Ok(Ok(None)) };
        let before = view.get::<Budget>((subject.clone(),))?;
        let window = Window { limit: "address_wrong_hour", most, length: HOUR };
        Ok(slide(now, before, subject, &[window]))
    }
}
