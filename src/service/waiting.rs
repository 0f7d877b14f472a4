//! Waits for the response to an approval request, on the caller's thread.

use super::Service;
use crate::call_log::Replied;
use crate::calls::{Approval, ApprovalStatus, CheckApproval, Handle};
use crate::interrupt::{self, INTERVAL};
use crate::model::{ApprovalId, UserId};
use crate::{Error, Result, Stage};
use std::time::{Duration, Instant};

/// The name of a wait in the log.
const WAIT_FOR_APPROVAL: &str = "wait_for_approval";
/// The first pause between two polls. Each further pause is half as long again.
const FIRST: Duration = Duration::from_millis(500);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(5);
/// The shortest timeout of a poll. A timeout of 0 would be an invalid argument.
const SHORTEST_POLL: Duration = Duration::from_millis(100);

/// Passes the time between two polls, for [`Service::wait_for_approval_with`].
pub trait Sleeper {
    /// Returns the time since the wait began, by a monotonic clock.
    fn elapsed(&mut self) -> Duration;

    /// Lets this much time pass. It may return early if [`interrupted`](crate::interrupted())
    /// returns that the wait is to end.
    ///
    /// # Errors
    /// Any error ends the wait, which returns it.
    fn pause(&mut self, time: Duration) -> Result<()>;
}

/// A wait for the response to an approval request, poll by poll: see [`Service::poll_approval`].
/// For programs that schedule the polls themselves, such as those with an event loop. Others call
/// [`Service::wait_for_approval`].
#[derive(Clone, Debug)]
pub struct ApprovalWait {
    uuid: ApprovalId,
    user_id: UserId,
    bound: bool,
    deadline: Duration,
    pause: Duration,
    /// The requests so far, for the log.
    attempts: u32,
}

/// The result of a poll.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "it is returned, and never stored")]
pub enum ApprovalPoll {
    /// The wait is over.
    Finished(Result<Approval>),
    /// Poll again after this time.
    PollAgain(Duration),
}

impl ApprovalWait {
    /// Creates a wait for this user's response, until `deadline` has passed.
    pub fn new(uuid: ApprovalId, user_id: UserId, deadline: Duration) -> ApprovalWait {
        ApprovalWait { uuid, user_id, bound: true, deadline, pause: FIRST, attempts: 0 }
    }

    /// Also accepts a record that names no user, from a service that provides only the status;
    /// check the result with [`Approval::approved_unbound`], which explains why this is weaker and
    /// what the application has to do instead. A record that names another user is still rejected.
    pub fn unbound(mut self) -> ApprovalWait {
        self.bound = false;
        self
    }

    /// Polls once, with the time that is left, and returns the next step.
    fn poll(
        &mut self,
        check: impl FnOnce(Duration) -> Result<Approval>,
        elapsed: &mut dyn FnMut() -> Duration,
    ) -> ApprovalPoll {
        let left = self.deadline.saturating_sub(elapsed());
        let result = check(left).and_then(|approval| self.own(approval));
        let shortest = match &result {
            Ok(approval) if is_open(approval) => Duration::ZERO,
            Err(Error::RateLimited { retry_after, .. }) => retry_after.unwrap_or_default(),
            // A service that is not trusted or not allowed now will not become so during the wait.
            Err(Error::Unavailable { stage: Stage::Tls | Stage::Access, .. }) => {
                return ApprovalPoll::Finished(result);
            }
            Err(Error::Unavailable { .. }) => Duration::ZERO,
            _ => return ApprovalPoll::Finished(result),
        };
        let left = self.deadline.saturating_sub(elapsed());
        if left.is_zero() {
            return ApprovalPoll::Finished(result);
        }
        let pause = self.pause.max(shortest).min(left);
        self.pause = (self.pause * 3 / 2).min(LONGEST);
        ApprovalPoll::PollAgain(pause)
    }

    /// Returns the request if it belongs to this user.
    fn own(&self, approval: Approval) -> Result<Approval> {
        if !approval.names_no_other_than(self.user_id) {
            return Err(Error::invalid_argument(
                "uuid",
                "names an approval request of another user",
            ));
        }
        match approval.user_id.is_some() || !self.bound {
            true => Ok(approval),
            false => {
                Err(Error::invalid_response("it does not include the approval request's user"))
            }
        }
    }
}

/// Sleeps on the caller's thread: the [`Sleeper`] of [`Service::wait_for_approval`].
#[derive(Debug)]
pub struct Sleep(Instant);

impl Sleep {
    /// Creates a wait that begins now.
    pub fn begin() -> Sleep {
        Sleep(Instant::now())
    }
}

impl Sleeper for Sleep {
    fn elapsed(&mut self) -> Duration {
        self.0.elapsed()
    }

    /// Ends early with [`Error::Cancelled`] when the wait is to end.
    fn pause(&mut self, time: Duration) -> Result<()> {
        let began = Instant::now();
        loop {
            let left = time.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            if interrupt::interrupted() {
                return Err(Error::Cancelled { sent: false });
            }
            std::thread::sleep(left.min(INTERVAL));
        }
    }
}

impl Service {
    /// Waits until the user has responded, the request has expired, or `deadline` has passed. In
    /// the last case, the status is still [`ApprovalStatus::Pending`]. Check the result with
    /// [`approved_by`](Approval::approved_by).
    ///
    /// The service is polled at once, again after half a second, and then at growing intervals of
    /// up to 5 seconds. A service that is busy or unavailable is polled again too. No poll takes
    /// longer than the time left until the deadline, or 100 ms if less is left.
    ///
    /// A request that is pending at the end can still be approved later. Set `seconds_to_expire` so
    /// that it expires with the login.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the request belongs to another user: the approval of one user
    /// must not log in another. [`Error::InvalidResponse`] if the service does not include the
    /// user. The error of the last poll, if it failed and the deadline has passed; otherwise see
    /// [`Error`].
    pub fn wait_for_approval(
        &self,
        uuid: &ApprovalId,
        user_id: UserId,
        deadline: Duration,
    ) -> Result<Approval> {
        let wait = ApprovalWait::new(uuid.clone(), user_id, deadline);
        self.wait_for_approval_with(wait, &mut Sleep::begin())
    }

    /// Waits as [`Service::wait_for_approval`] does, for a wait with other options, and with
    /// `sleeper` passing the time: a program can thereby interrupt the wait, and a test need not
    /// wait.
    ///
    /// ```no_run
    /// # use seconder::{ApprovalWait, Result, Service, Sleep, model};
    /// # fn f(service: Service, uuid: model::ApprovalId, user: model::UserId) -> Result<bool> {
    /// // The service provides only the status, and `uuid` is from the session of this login.
    /// let wait = ApprovalWait::new(uuid, user, std::time::Duration::from_secs(60)).unbound();
    /// let approval = service.wait_for_approval_with(wait, &mut Sleep::begin())?;
    /// # Ok(
    /// approval.approved_unbound(user)
    /// # ) }
    /// ```
    ///
    /// # Errors
    /// As [`Service::wait_for_approval`], and any error of `sleeper`.
    pub fn wait_for_approval_with(
        &self,
        mut wait: ApprovalWait,
        sleeper: &mut dyn Sleeper,
    ) -> Result<Approval> {
        let (service, user_id) = (self.unlogged(), wait.user_id);
        let poll = |wait: &mut ApprovalWait, elapsed: &mut dyn FnMut() -> Duration| {
            service.poll_approval(wait, elapsed)
        };
        let poll_all = || poll_until_finished(poll, &mut wait, sleeper);
        self.carry_out(WAIT_FOR_APPROVAL, Some(user_id), poll_all)
    }

    /// Polls once for the response that `wait` waits for, and returns whether and when to poll
    /// again. `elapsed` returns the time since the wait began, by a monotonic clock. The result
    /// that ends the wait is the one that [`Service::wait_for_approval`] returns, and the only one that
    /// is logged.
    pub fn poll_approval(
        &self,
        wait: &mut ApprovalWait,
        elapsed: &mut dyn FnMut() -> Duration,
    ) -> ApprovalPoll {
        let (service, user_id) = (self.unlogged(), Some(wait.user_id));
        let logged = self.begin(WAIT_FOR_APPROVAL, user_id);
        let call = CheckApproval::new(wait.uuid.clone());
        let polled =
            wait.poll(|left| service.within(left.max(SHORTEST_POLL)).handle(&call), elapsed);
        if let Some(logged) = logged {
            wait.attempts += logged.attempts();
            if let ApprovalPoll::Finished(result) = &polled {
                let result = result.as_ref().map(|_| Replied::default());
                logged.end_with(result, wait.attempts, elapsed());
            }
        }
        polled
    }
}

/// Polls until the wait is over, and passes the time in between.
fn poll_until_finished(
    mut poll: impl FnMut(&mut ApprovalWait, &mut dyn FnMut() -> Duration) -> ApprovalPoll,
    wait: &mut ApprovalWait,
    sleeper: &mut dyn Sleeper,
) -> Result<Approval> {
    loop {
        match poll(wait, &mut || sleeper.elapsed()) {
            ApprovalPoll::Finished(result) => return result,
            ApprovalPoll::PollAgain(time) => sleeper.pause(time)?,
        }
        if interrupt::interrupted() {
            return Err(Error::Cancelled { sent: false });
        }
    }
}

impl Service {
    /// The same service, with calls that take no longer than this.
    #[cfg(feature = "remote")]
    fn within(&self, left: Duration) -> Service {
        self.remote(|timeout, _| *timeout = left.min(*timeout))
    }

    /// An engine in this process has no timeout.
    #[cfg(not(feature = "remote"))]
    fn within(&self, _: Duration) -> Service {
        self.clone()
    }
}

/// Returns whether the status may still change. One that this library does not know may be followed by one
/// that it does.
fn is_open(approval: &Approval) -> bool {
    matches!(approval.status, ApprovalStatus::Pending | ApprovalStatus::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that advances only in pauses, and the pauses so far, in milliseconds.
    #[derive(Default)]
    struct ManualSleeper(Vec<u64>);

    impl Sleeper for ManualSleeper {
        fn elapsed(&mut self) -> Duration {
            Duration::from_millis(self.0.iter().sum())
        }
        fn pause(&mut self, time: Duration) -> Result<()> {
            self.0.push(u64::try_from(time.as_millis()).unwrap());
            Ok(())
        }
    }

    fn approval(status: ApprovalStatus, owner: Option<u64>) -> Approval {
        let mut approval = Approval::new(status);
        approval.user_id = owner.map(|owner| owner.try_into().unwrap());
        approval
    }

    /// Returns the outcome of a wait with these poll results, the last of which is repeated without
    /// end, and the pauses.
    fn waited(deadline: u64, results: Vec<Result<Approval>>) -> (Result<Approval>, Vec<u64>) {
        let (uuid, user) = ("a-1".parse().unwrap(), 7.try_into().unwrap());
        waited_as(ApprovalWait::new(uuid, user, Duration::from_secs(deadline)), results)
    }

    fn waited_as(
        mut wait: ApprovalWait,
        results: Vec<Result<Approval>>,
    ) -> (Result<Approval>, Vec<u64>) {
        let (mut sleeper, mut results) = (ManualSleeper::default(), results.into_iter().peekable());
        let mut check = |_: Duration| {
            let next = results.next().unwrap();
            if results.peek().is_none() {
                results = vec![next.clone()].into_iter().peekable();
            }
            next
        };
        let poll = |wait: &mut ApprovalWait, elapsed: &mut dyn FnMut() -> Duration| {
            wait.poll(&mut check, elapsed)
        };
        let outcome = poll_until_finished(poll, &mut wait, &mut sleeper);
        (outcome, sleeper.0)
    }

    use ApprovalStatus::*;

    #[test]
    fn ends_when_the_user_has_responded() {
        for status in [Approved, Denied, Expired] {
            let results = [Pending, Unknown, status].map(|s| Ok(approval(s, Some(7))));
            let (found, pauses) = waited(60, results.into());
            let found = found.unwrap();
            assert_eq!((found.status, pauses), (status, vec![500, 750]));
            assert_eq!(found.approved_by(7.try_into().unwrap()), status == Approved);
            assert!(!found.approved_by(8.try_into().unwrap()));
        }
    }

    #[test]
    fn polls_at_growing_intervals_and_ends_at_the_deadline() {
        let (found, pauses) = waited(20, vec![Ok(approval(Pending, Some(7)))]);
        assert_eq!(found.unwrap().status, Pending);
        assert_eq!(pauses.iter().sum::<u64>(), 20_000);
        assert_eq!(pauses, [500, 750, 1125, 1687, 2531, 3796, 5000, 4611]);
        assert!(waited(0, vec![Ok(approval(Pending, Some(7)))]).1.is_empty());
        let forever = vec![Ok(approval(Pending, Some(7))), Ok(approval(Denied, Some(7)))];
        assert_eq!(waited(u64::MAX, forever).0.unwrap().status, Denied);
    }

    #[test]
    fn a_request_of_another_or_an_unknown_user_is_rejected() {
        let invalid = waited(60, vec![Ok(approval(Approved, Some(8)))]).0;
        assert!(
            matches!(invalid, Err(Error::InvalidArgument { parameter, .. }) if parameter == "uuid")
        );
        for (status, owner) in [(Approved, None), (Pending, None)] {
            let (found, pauses) = waited(60, vec![Ok(approval(status, owner))]);
            assert!(matches!(found, Err(Error::InvalidResponse { .. })) && pauses.is_empty());
        }
    }

    #[test]
    fn without_binding_a_record_may_name_no_user_but_no_other() {
        let user = 7.try_into().unwrap();
        let wait = || ApprovalWait::new("a-1".parse().unwrap(), user, Duration::from_secs(60));
        let results = || [Pending, Approved].map(|status| Ok(approval(status, None))).into();
        let (found, pauses) = waited_as(wait().unbound(), results());
        let found = found.unwrap();
        assert!(found.approved_unbound(user) && !found.approved_by(user));
        assert_eq!(pauses, [500]);
        let foreign = waited_as(wait().unbound(), vec![Ok(approval(Approved, Some(8)))]).0;
        assert!(matches!(foreign, Err(Error::InvalidArgument { .. })), "{foreign:?}");
        for status in [Pending, Denied, Expired, Unknown] {
            assert!(!approval(status, None).approved_unbound(user));
        }
        assert!(approval(Approved, Some(7)).approved_unbound(user));
        assert!(!approval(Approved, Some(8)).approved_unbound(user));
    }

    #[test]
    fn a_busy_service_is_polled_again_and_one_that_rejects_the_key_is_not() {
        let wait = |seconds| Some(Duration::from_secs(seconds));
        let busy = |s| Error::RateLimited {
            message: "busy".into(),
            retry_after: wait(s),
            code: None,
            limit: None,
        };
        let gone = Error::unavailable(Stage::Response, "gone");
        let found = Ok(approval(Approved, Some(7)));
        let (answer, pauses) = waited(60, vec![Err(busy(3)), Err(gone.clone()), found]);
        assert!(answer.is_ok() && pauses == [3000, 750], "{pauses:?}");
        assert_eq!(waited(2, vec![Err(gone.clone())]).0, Err(gone));
        let (answer, pauses) = waited(2, vec![Err(busy(3600))]);
        assert_eq!((answer, pauses), (Err(busy(3600)), vec![2000]));
        let key = Error::Unauthorized { message: String::new(), code: None };
        assert_eq!(waited(60, vec![Err(key.clone())]), (Err(key), vec![]));
    }
}
