//! What the operator learns while the server runs. The number of lines is limited, because peers
//! cause them.

use crate::log::Logger;
use crate::metrics::Requests;
#[cfg(feature = "otlp")]
use crate::traces::Traces;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The lines within `TIME`.
const LINES: u32 = 30;
const TIME: Duration = Duration::from_secs(10);

/// What receives the lines.
pub(crate) type Sink = Box<dyn Fn(&str) + Send + Sync>;

/// Passes lines on, but not too many.
pub(crate) struct Journal {
    sink: Sink,
    logger: Option<Logger>,
    requests: Requests,
    #[cfg(feature = "otlp")]
    traces: Option<Traces>,
    recent: Mutex<Option<Recent>>,
}

struct Recent {
    since: Instant,
    lines: u32,
}

impl Journal {
    pub(crate) fn new(sink: Sink) -> Journal {
        Journal {
            sink,
            logger: None,
            requests: Requests::default(),
            #[cfg(feature = "otlp")]
            traces: None,
            recent: Mutex::new(None),
        }
    }

    /// The same, with a log of the requests.
    pub(crate) fn with_requests(mut self, logger: Option<Logger>) -> Journal {
        self.logger = logger;
        self
    }

    /// The same, with spans of the requests.
    #[cfg(feature = "otlp")]
    pub(crate) fn with_traces(mut self, traces: Option<Traces>) -> Journal {
        self.traces = traces;
        self
    }

    /// What sends spans of the requests, if anything does.
    #[cfg(feature = "otlp")]
    pub(crate) fn traces(&self) -> Option<&Traces> {
        self.traces.as_ref()
    }

    /// What counts the requests.
    pub(crate) fn requests(&self) -> &Requests {
        &self.requests
    }

    /// What logs the requests, if anything does.
    pub(crate) fn logger(&self) -> Option<&Logger> {
        self.logger.as_ref()
    }

    /// Passes a line on, or only counts it.
    pub(crate) fn note(&self, line: &str) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let new = Recent { since: now, lines: 0 };
        let over = |recent: &Recent| now.duration_since(recent.since) >= TIME;
        let left_out = match &*recent {
            Some(before) if over(before) => before.lines.saturating_sub(LINES),
            _ => 0,
        };
        if recent.as_ref().is_none_or(over) {
            *recent = Some(new);
        }
        if left_out > 0 {
            (self.sink)(&format!("{left_out} lines like these were left out"));
        }
        if let Some(recent) = recent.as_mut() {
            recent.lines += 1;
            if recent.lines <= LINES {
                (self.sink)(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_flood_of_lines_is_cut() {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let keep = Arc::clone(&lines);
        let journal = Journal::new(Box::new(move |line| keep.lock().unwrap().push(line.into())));
        (0..LINES + 5).for_each(|number| journal.note(&number.to_string()));
        assert_eq!(lines.lock().unwrap().len(), LINES as usize);
        let earlier = Instant::now().checked_sub(TIME).unwrap();
        journal.recent.lock().unwrap().as_mut().unwrap().since = earlier;
        journal.note("again");
        let lines = lines.lock().unwrap();
        assert_eq!(lines[LINES as usize..], ["5 lines like these were left out", "again"]);
    }
}
