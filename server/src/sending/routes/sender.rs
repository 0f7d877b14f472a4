//! Sends jobs by the routes: each is prepared, sent by a gateway, and finished with the outcome.

use super::route::locked;
use super::{Routes, State, Unsent};
use seconder::Result;
use seconder::calls::Channel;
use seconder::engine::{
    AfterAttempt, JobKind, Lane, LeasedJob, Message, Offered, Outcome, Prepared, Sender,
};
use std::time::{Duration, Instant};

/// The time that messages wait for a route that cannot be used.
const UNUSABLE: Duration = Duration::from_secs(30);

impl Routes {
    /// Makes one attempt to send a job, and reports the outcome. Returns `None` if there is nothing to send.
    pub(crate) fn attempt(
        &self,
        job: LeasedJob,
        measure: impl FnOnce(&Outcome),
    ) -> Result<Option<(AfterAttempt, Outcome)>> {
        let (outcome, routes) = match job.prepare(self.longest_attempt(job.lane()))? {
            Prepared::Message(message) => {
                (self.send_message(job.lane(), &message), self.routes(&message.to, message.via))
            }
            Prepared::Post => (job.post()?, Vec::new()),
            _ => return Ok(None),
        };
        measure(&outcome);
        job.finish(outcome, &routes).map(Some)
    }

    /// Returns the time that an attempt by this route takes at most; zero for callbacks and push messages, whose leases
    /// are long enough.
    fn longest_attempt(&self, name: &str) -> Duration {
        let all = self.all();
        let route = all.iter().find(|route| route.name == name);
        route.map_or(Duration::ZERO, |route| route.lane().longest_attempt)
    }

    pub(super) fn send_message(&self, name: &str, message: &Message) -> Outcome {
        let all = self.all();
        let Some(route) = all.iter().find(|route| route.name == name) else {
            return self.0.spooled.write(message, &self.0.log);
        };
        match &route.open {
            Ok(open) => self.send_by_gateway(name, open, message),
            Err(_) if route.is_removed() => Outcome::Permanent(format!("route {name} was removed")),
            // Another node may be able to send by it, or this one once it was set again.
            Err(_) => {
                let reason = format!("route {name} cannot be used");
                Outcome::NotAttempted { after: Some(UNUSABLE), reason }
            }
        }
    }
}

impl Sender for Routes {
    fn lanes(&self) -> Vec<Lane> {
        self.workers().into_iter().map(|(lane, _)| lane).collect()
    }

    fn routes(&self, to: &str, via: Channel) -> Vec<Lane> {
        let all = self.all();
        // Routes that are set and cannot be used are no reason to write codes to a folder.
        if all.iter().all(|route| route.is_removed()) {
            return self.0.spooled.lanes();
        }
        let open = all.iter().filter_map(|route| Some((route, route.open.as_ref().ok()?)));
        let now = Instant::now();
        let mut taking: Vec<_> = open
            .filter(|(_, open)| open.settings.takes(to, via))
            .map(|(route, open)| {
                // A route that fails is asked only if all others do.
                let fails = locked(&open.breaker).state(now) == State::Open;
                (fails, open.settings.priority, open.settings.draw(), route)
            })
            .collect();
        taking.sort_by(|a, b| {
            (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)).then(a.3.name.cmp(&b.3.name))
        });
        taking.into_iter().map(|(.., route)| route.lane()).collect()
    }

    fn send(&self, mut job: LeasedJob) -> Result<()> {
        let is_message = !matches!(job.kind(), JobKind::Callback | JobKind::Push);
        while let Some((then, outcome)) = self.attempt(job, |_| {})? {
            if is_message && !matches!(then, AfterAttempt::Stale) {
                let mut unsent = locked(&self.0.unsent);
                *unsent = Unsent::after(unsent.take(), &outcome, &then);
            }
            match then {
                AfterAttempt::Again(next) => job = next,
                _ => break,
            }
        }
        Ok(())
    }

    fn offer(&self, job: LeasedJob) -> Offered {
        let has_route = || self.all().iter().any(|route| route.name == job.lane());
        let is_for_workers = matches!(job.kind(), JobKind::Callback | JobKind::Push) || has_route();
        match self.0.workers.get() {
            Some(workers) if is_for_workers => workers(job),
            _ => Offered::Here(job),
        }
    }

    fn housekeep(&self) {
        self.0.spooled.housekeep();
    }
}
