//! Linearizability check: decides whether a recorded history can have happened in some order, one
//! call after the other, in which each call takes effect between its begin and its end. The search
//! is the one by Wing and Gong, and skips states that were seen before, as Lowe does.
//!
//! A history is about one thing that can be used: a secret of an authenticator app, or a code that
//! was sent. Different secrets and codes do not affect each other, so each is searched alone.

use std::collections::HashSet;

/// The presented code: the step of an app's code, or 1 for a code that was sent; 0 for a wrong
/// guess.
pub(super) type Presented = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Observed {
    Right,
    /// It was right once.
    Used,
    Wrong,
    /// The user has to wait.
    RateLimited,
    /// The call failed without an effect.
    Nothing,
    /// The caller knows nothing: it may have had its effect, or may have it later, or never.
    Unknown,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) presented: Presented,
    pub(super) seen: Observed,
    pub(super) begun: u64,
    pub(super) ended: u64,
}

/// The state that a sequence of calls leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct State {
    /// The last step that was accepted.
    pub(super) last: u64,
    /// The wrong guesses in a row.
    pub(super) wrong: u32,
}

/// From the fourth wrong guess on, a user waits. The clock of a history stands still.
const FREE: u32 = 4;

impl State {
    /// Returns the only outcome of a call in this state, and the state that it leaves.
    fn next(self, presented: Presented) -> (Observed, State) {
        match presented {
            _ if self.wrong >= FREE => (Observed::RateLimited, self),
            0 => (Observed::Wrong, State { wrong: self.wrong + 1, ..self }),
            step if step <= self.last => (Observed::Used, self),
            step => (Observed::Right, State { last: step, wrong: 0 }),
        }
    }

    /// Returns the states that a call can leave, given the outcome that the caller has seen.
    fn after(self, call: &Call) -> Vec<State> {
        let (seen, state) = self.next(call.presented);
        match call.seen {
            Observed::Nothing => vec![self],
            Observed::Unknown if state == self => vec![self],
            Observed::Unknown => vec![self, state],
            known if known == seen => vec![state],
            _ => Vec::new(),
        }
    }
}

/// Returns whether an order explains all outcomes that were seen.
pub(super) fn is_explained(history: &[Call], state: State) -> bool {
    let mut open: Vec<usize> = (0..history.len()).collect();
    open.sort_by_key(|place| history[*place].begun);
    search(history, &open, state, &mut HashSet::new())
}

/// Tries each call that can be the next one: no other has ended before it began.
fn search(
    history: &[Call],
    open: &[usize],
    state: State,
    seen: &mut HashSet<(Vec<usize>, State)>,
) -> bool {
    let ended = |place: &usize| match history[*place].seen {
        // It may have its effect after everything else.
        Observed::Unknown => u64::MAX,
        _ => history[*place].ended,
    };
    let Some(first) = open.iter().map(ended).min() else { return true };
    // No order of the rest makes a step right that is not later than the last one.
    let is_late = |call: &Call| call.seen == Observed::Right && call.presented <= state.last;
    if open.iter().any(|place| is_late(&history[*place])) {
        return false;
    }
    if !seen.insert((open.to_vec(), state)) {
        return false;
    }
    open.iter().filter(|place| history[**place].begun <= first).any(|next| {
        let rest: Vec<usize> = open.iter().copied().filter(|place| place != next).collect();
        let mut after = state.after(&history[*next]).into_iter();
        after.any(|state| search(history, &rest, state, seen))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a call that takes the time between two numbers.
    fn call(presented: Presented, seen: Observed, begun: u64, ended: u64) -> Call {
        Call { presented, seen, begun, ended }
    }

    fn explained(history: &[Call]) -> bool {
        is_explained(history, State::default())
    }

    #[test]
    fn what_one_order_explains_is_accepted() {
        use Observed::*;
        assert!(explained(&[]));
        // Two at once; one of them was first.
        assert!(explained(&[call(1, Right, 0, 9), call(1, Used, 1, 8)]));
        assert!(explained(&[call(1, Used, 0, 9), call(1, Right, 1, 8)]));
        // The earlier step came first, or the later one.
        assert!(explained(&[call(1, Right, 0, 9), call(2, Right, 1, 8)]));
        assert!(explained(&[call(1, Used, 0, 9), call(2, Right, 1, 8)]));
        // Four wrong guesses; a right code between them makes fewer in a row.
        let wrong = |at| call(0, Wrong, at, at + 1);
        assert!(explained(&[wrong(0), wrong(2), wrong(4), wrong(6), call(0, RateLimited, 8, 9)]));
        let right = call(1, Right, 0, 99);
        assert!(explained(&[wrong(0), wrong(2), wrong(4), wrong(6), wrong(8), right]));
    }

    #[test]
    fn a_code_that_was_accepted_twice_is_noticed() {
        use Observed::*;
        assert!(!explained(&[call(1, Right, 0, 9), call(1, Right, 1, 8)]));
        assert!(!explained(&[call(1, Right, 0, 1), call(2, Used, 0, 9), call(1, Right, 2, 3)]));
        // Also among many others.
        let mut many: Vec<Call> = (1..40).map(|step| call(step, Right, step, 100)).collect();
        assert!(explained(&many));
        many.push(call(20, Right, 0, 100));
        assert!(!explained(&many));
    }

    #[test]
    fn an_update_that_was_lost_is_noticed() {
        use Observed::*;
        // An acknowledged use is forgotten.
        assert!(!explained(&[call(2, Right, 0, 1), call(1, Right, 2, 3)]));
        // So are wrong guesses.
        let wrong = |at| call(0, Wrong, at, at + 1);
        assert!(!explained(&[wrong(0), wrong(2), wrong(4), wrong(6), wrong(8)]));
        // Five at once, which each saw the same number before it.
        let at_once = |seen| call(0, seen, 0, 9);
        assert!(!explained(&[Wrong; 5].map(at_once)));
        assert!(explained(&[Wrong, Wrong, RateLimited, Wrong, Wrong].map(at_once)));
    }

    #[test]
    fn a_rejection_without_a_reason_is_noticed() {
        use Observed::*;
        assert!(!explained(&[call(1, Used, 0, 1)]));
        assert!(!explained(&[call(1, Used, 0, 1), call(1, Right, 2, 3)]));
        assert!(!explained(&[call(0, Wrong, 0, 1), call(1, RateLimited, 2, 3)]));
        assert!(!explained(&[call(1, Wrong, 0, 1)]));
    }

    #[test]
    fn a_call_whose_end_nobody_saw_explains_what_comes_after_it_or_nothing() {
        use Observed::*;
        let lost = call(1, Unknown, 0, 1);
        assert!(explained(&[lost, call(1, Used, 2, 3)]));
        assert!(explained(&[lost, call(1, Right, 2, 3)]));
        // Its effect comes late, but once.
        assert!(explained(&[lost, call(1, Right, 2, 3), call(1, Used, 4, 5)]));
        assert!(!explained(&[lost, call(1, Used, 2, 3), call(1, Right, 4, 5)]));
        // It cannot have come before it began.
        assert!(!explained(&[call(1, Used, 0, 1), call(1, Unknown, 2, 3)]));
        assert!(explained(&[call(1, Nothing, 0, 1), call(1, Right, 2, 3)]));
        assert!(!explained(&[call(1, Nothing, 0, 1), call(1, Used, 2, 3)]));
    }
}
