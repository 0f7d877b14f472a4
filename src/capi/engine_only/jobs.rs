//! The outcome of an attempt as the program's functions report it.

use crate::capi::jobs::{Details, Said};
use crate::capi::status::{
    SECONDER_OUTCOME_AMBIGUOUS, SECONDER_OUTCOME_NOT_ATTEMPTED, SECONDER_OUTCOME_NUMBER_REFUSED,
    SECONDER_OUTCOME_PERMANENT, SECONDER_OUTCOME_RETRY, SECONDER_OUTCOME_SENT,
};
use crate::engine::Outcome;

impl Details {
    /// Returns the outcome of the attempt. `other` is for a number that is not one of the constants.
    pub(crate) fn outcome(
        &self,
        returned: i32,
        function: &str,
        other: fn(String) -> Outcome,
    ) -> Outcome {
        let Said { id, after, reason } = std::mem::take(&mut *self.said());
        let reason = reason.filter(|reason| !reason.is_empty());
        let reason =
            reason.unwrap_or_else(|| format!("the {function} function returned {returned}"));
        match returned {
            SECONDER_OUTCOME_SENT => Outcome::Sent(id.filter(|id| !id.is_empty())),
            SECONDER_OUTCOME_PERMANENT => Outcome::Permanent(reason),
            SECONDER_OUTCOME_NUMBER_REFUSED => Outcome::NumberRefused(reason),
            SECONDER_OUTCOME_RETRY => Outcome::Retry { after, reason },
            SECONDER_OUTCOME_NOT_ATTEMPTED => Outcome::NotAttempted { after, reason },
            SECONDER_OUTCOME_AMBIGUOUS => Outcome::Ambiguous(reason),
            _ => other(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn again(reason: String) -> Outcome {
        Outcome::Retry { after: None, reason }
    }

    #[test]
    fn a_number_that_is_no_constant_means_what_the_function_decides() {
        for (returned, failed) in [(-1, "the post function returned -1"), (6, "returned 6")] {
            let outcome = Details::default().outcome(returned, "post", again);
            assert!(matches!(&outcome, Outcome::Retry { reason, .. } if reason.contains(failed)));
            let outcome = Details::default().outcome(returned, "deliver", Outcome::Permanent);
            assert!(matches!(outcome, Outcome::Permanent(_)));
        }
    }

    #[test]
    fn the_details_belong_to_the_constant_that_is_returned() {
        let outcome_of = |returned| {
            let details = Details::default();
            details.set_id(Some(c"SM-1"));
            details.set_retry_after(1500);
            details.set_reason(Some(c"busy"));
            details.outcome(returned, "post", again)
        };
        let (after, busy) = (Some(Duration::from_millis(1500)), "busy".to_owned());
        assert_eq!(outcome_of(SECONDER_OUTCOME_SENT), Outcome::Sent(Some("SM-1".to_owned())));
        assert_eq!(
            outcome_of(SECONDER_OUTCOME_RETRY),
            Outcome::Retry { after, reason: busy.clone() }
        );
        assert_eq!(outcome_of(SECONDER_OUTCOME_PERMANENT), Outcome::Permanent(busy.clone()));
        assert_eq!(
            outcome_of(SECONDER_OUTCOME_NUMBER_REFUSED),
            Outcome::NumberRefused(busy.clone())
        );
        assert_eq!(
            outcome_of(SECONDER_OUTCOME_NOT_ATTEMPTED),
            Outcome::NotAttempted { after, reason: busy.clone() }
        );
        assert_eq!(outcome_of(SECONDER_OUTCOME_AMBIGUOUS), Outcome::Ambiguous(busy));
    }
}
