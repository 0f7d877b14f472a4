//! The operator's log of a running server. The number of lines is limited, because peers cause
//! them; the lines about requests that anybody can make have limits of their own.

use crate::observe::log::Logger;
use crate::observe::metrics::requests::Requests;
#[cfg(feature = "otlp")]
use crate::observe::traces::Traces;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The lines within `TIME`.
const LINES: usize = 30;
/// The lines within `TIME` about requests of strangers.
pub(crate) const STRANGERS: usize = 300;
/// The lines within `TIME` about requests of strangers that failed in the service. The others leave room for them.
pub(crate) const FAILURES: usize = 300;
/// The lines of one client among the lines about strangers.
pub(crate) const STRANGER: usize = 30;
pub(crate) const TIME: Duration = Duration::from_secs(10);

/// The function that receives the lines.
pub(crate) type Sink = Box<dyn Fn(&str) + Send + Sync>;

/// Passes lines on, but not too many.
pub(crate) struct Journal {
    sink: Sink,
    logger: Option<Logger>,
    requests: Requests,
    #[cfg(feature = "otlp")]
    traces: Option<Traces>,
    lines: LineLimit,
    strangers: LineLimit,
    failures: LineLimit,
}

/// Limits the lines within `TIME`.
struct LineLimit {
    most: usize,
    /// The most for one client.
    share: usize,
    recent: Mutex<Recent>,
}

#[derive(Default)]
struct Recent {
    since: Option<Instant>,
    lines: usize,
    by_client: HashMap<String, usize>,
    left_out: u64,
}

impl LineLimit {
    fn new(most: usize, share: usize) -> LineLimit {
        LineLimit { most, share, recent: Mutex::default() }
    }

    /// Returns whether there is room for a line because of this client. If not, it is counted.
    fn take(&self, client: &str, now: Instant) -> bool {
        let mut recent = self.lock();
        let recent = &mut *recent;
        let since = *recent.since.get_or_insert(now);
        if now.saturating_duration_since(since) >= TIME {
            // The number of lines that were left out is still to be reported.
            *recent = Recent { since: Some(now), left_out: recent.left_out, ..Recent::default() };
        }
        let own = recent.by_client.get(client).copied().unwrap_or_default();
        let has_room = recent.lines < self.most && own < self.share;
        if has_room {
            recent.lines += 1;
            recent.by_client.insert(client.to_owned(), own + 1);
        } else {
            recent.left_out += 1;
        }
        has_room
    }

    /// Returns the number of lines that were left out before the last `TIME`, once.
    fn left_out(&self, now: Instant) -> Option<u64> {
        let mut recent = self.lock();
        let is_over = now.saturating_duration_since(recent.since?) >= TIME;
        (is_over && recent.left_out > 0).then(|| std::mem::take(&mut recent.left_out))
    }

    fn lock(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal {
    pub(crate) fn new(sink: Sink) -> Journal {
        Journal {
            sink,
            logger: None,
            requests: Requests::default(),
            #[cfg(feature = "otlp")]
            traces: None,
            lines: LineLimit::new(LINES, LINES),
            strangers: LineLimit::new(STRANGERS, STRANGER),
            failures: LineLimit::new(FAILURES, FAILURES),
        }
    }

    /// Returns the journal with a log of the requests.
    pub(crate) fn with_requests(mut self, logger: Option<Logger>) -> Journal {
        self.logger = logger;
        self
    }

    /// Returns the journal with spans of the requests.
    #[cfg(feature = "otlp")]
    pub(crate) fn with_traces(mut self, traces: Option<Traces>) -> Journal {
        self.traces = traces;
        self
    }

    /// Returns the exporter of spans of the requests, if there is one.
    #[cfg(feature = "otlp")]
    pub(crate) fn traces(&self) -> Option<&Traces> {
        self.traces.as_ref()
    }

    /// Returns the counters of the requests.
    pub(crate) fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Returns the logger of the requests, if there is one.
    pub(crate) fn logger(&self) -> Option<&Logger> {
        self.logger.as_ref()
    }

    /// Passes a line on, or only counts it.
    pub(crate) fn note(&self, line: &str) {
        let now = Instant::now();
        self.report_left_out(now);
        if self.lines.take("", now) {
            (self.sink)(line);
        }
    }

    /// Returns whether a request of this client that anybody can make is logged. If not, it is counted.
    pub(crate) fn may_log_stranger(&self, client: &str) -> bool {
        let now = Instant::now();
        self.report_left_out(now);
        self.strangers.take(client, now)
    }

    /// Returns whether a request that anybody can make, and that failed in the service, is logged. If not, it is
    /// counted.
    pub(crate) fn may_log_failure(&self) -> bool {
        let now = Instant::now();
        self.report_left_out(now);
        self.failures.take("", now)
    }

    /// Says how many lines were left out, once their time is over.
    pub(crate) fn report_left_out(&self, now: Instant) {
        if let Some(count) = self.lines.left_out(now) {
            (self.sink)(&format!("warning: {count} lines like these were left out"));
        }
        if let Some(count) = self.strangers.left_out(now) {
            (self.sink)(&format!(
                "warning: {count} requests that anybody can make, such as those with wrong API keys, have no \
                 line: their clients sent too many"
            ));
        }
        if let Some(count) = self.failures.left_out(now) {
            (self.sink)(&format!("warning: {count} requests that failed have no line"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn journal() -> (Journal, Arc<Mutex<Vec<String>>>) {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let keep = Arc::clone(&lines);
        (Journal::new(Box::new(move |line| keep.lock().unwrap().push(line.into()))), lines)
    }

    #[test]
    fn a_flood_of_lines_is_cut() {
        let (journal, lines) = journal();
        (0..LINES + 5).for_each(|number| journal.note(&number.to_string()));
        assert_eq!(lines.lock().unwrap().len(), LINES);
        let earlier = Instant::now().checked_sub(TIME).unwrap();
        journal.lines.lock().since = Some(earlier);
        journal.note("again");
        assert_eq!(
            lines.lock().unwrap()[LINES..],
            ["warning: 5 lines like these were left out", "again"]
        );
    }

    #[test]
    fn requests_of_strangers_have_lines_up_to_a_limit_for_each_and_one_for_all() {
        let (limit, now) = (LineLimit::new(STRANGERS, STRANGER), Instant::now());
        let logged = |client: &str, count: usize, now| {
            (0..count).filter(|_| limit.take(client, now)).count()
        };
        assert_eq!(logged("192.0.2.1", 1000, now), STRANGER);
        assert_eq!(logged("192.0.2.2", 1, now), 1, "another client");
        let others: usize = (0..1000).map(|number| logged(&format!("uid:{number}"), 9, now)).sum();
        assert_eq!(others, STRANGERS - STRANGER - 1);
        assert_eq!(limit.lock().by_client.len(), others.div_ceil(9) + 2);
        let (left_out, later) = (1000 + 9000 - others - STRANGER, now + TIME);
        assert_eq!((limit.left_out(now), limit.left_out(later)), (None, Some(left_out as u64)));
        assert_eq!((logged("192.0.2.1", 1, later), limit.left_out(later)), (1, None));
    }

    #[test]
    fn the_operator_learns_of_requests_without_lines_even_if_no_others_follow() {
        let (journal, lines) = journal();
        let logged = (0..STRANGER + 7).filter(|_| journal.may_log_stranger("192.0.2.1")).count();
        assert_eq!((logged, lines.lock().unwrap().len()), (STRANGER, 0));
        journal.report_left_out(Instant::now() + TIME);
        assert!(lines.lock().unwrap()[0].starts_with("warning: 7 requests"), "{lines:?}");
    }

    #[test]
    fn a_flood_of_refused_requests_leaves_lines_for_those_that_failed() {
        let (journal, lines) = journal();
        let refused = (0..2 * STRANGERS).map(|number| number.to_string());
        assert_eq!(refused.filter(|client| journal.may_log_stranger(client)).count(), STRANGERS);
        let failed = (0..FAILURES + 3).filter(|_| journal.may_log_failure()).count();
        assert_eq!(failed, FAILURES);
        journal.report_left_out(Instant::now() + TIME);
        assert!(
            lines.lock().unwrap()[1].starts_with("warning: 3 requests that failed"),
            "{lines:?}"
        );
    }
}
