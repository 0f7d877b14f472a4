//! Waiting for the answer to an approval request, in the caller's thread.

use super::Service;
use crate::calls::{Approval, ApprovalStatus, CheckApproval, Handle};
use crate::model::{ApprovalId, UserId};
use crate::{Error, Result, Stage};
use std::time::{Duration, Instant};

/// The first pause between two questions. Each is half as long again as the one before.
const FIRST: Duration = Duration::from_millis(500);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(5);
/// The time that a question has at the least.
const BRIEF: Duration = Duration::from_millis(100);

/// Passes the time between two questions, for [`Service::wait_for_approval_with`].
pub trait Sleeper {
    /// How long it has been since the wait began, by a clock that is never set back.
    fn elapsed(&mut self) -> Duration;

    /// Lets so much time pass.
    ///
    /// # Errors
    /// Whatever ends the wait.
    fn pause(&mut self, time: Duration) -> Result<()>;
}

/// A wait for the answer to an approval request, question by question: [`Service::poll_approval`].
/// It is for programs that pass the time between two questions in a way of their own, such as an
/// event loop; the others call [`Service::wait_for_approval`].
#[derive(Clone, Debug)]
pub struct ApprovalWait {
    uuid: ApprovalId,
    user_id: UserId,
    deadline: Duration,
    pause: Duration,
}

/// What came of a question.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalPoll {
    /// The wait is over.
    Finished(Result<Approval>),
    /// Ask again after so long.
    PollAgain(Duration),
}

impl ApprovalWait {
    /// The wait for this user's answer, for so long as `deadline` says.
    pub fn new(uuid: ApprovalId, user_id: UserId, deadline: Duration) -> ApprovalWait {
        ApprovalWait { uuid, user_id, deadline, pause: FIRST }
    }

    /// Asks once, with the time that is left, and says what comes next.
    fn poll(
        &mut self,
        ask: impl FnOnce(Duration) -> Result<Approval>,
        elapsed: &mut dyn FnMut() -> Duration,
    ) -> ApprovalPoll {
        let left = self.deadline.saturating_sub(elapsed());
        let found = ask(left).and_then(|approval| own(approval, &self.uuid, self.user_id));
        let least = match &found {
            Ok(approval) if is_open(approval) => Duration::ZERO,
            Err(Error::RateLimited { retry_after, .. }) => retry_after.unwrap_or_default(),
            // Whom this client does not trust now, it will not trust in a while.
            Err(Error::Unavailable { stage: Stage::Tls, .. }) => {
                return ApprovalPoll::Finished(found);
            }
            Err(Error::Unavailable { .. }) => Duration::ZERO,
            _ => return ApprovalPoll::Finished(found),
        };
        let left = self.deadline.saturating_sub(elapsed());
        if left.is_zero() {
            return ApprovalPoll::Finished(found);
        }
        let pause = self.pause.max(least).min(left);
        self.pause = (self.pause * 3 / 2).min(LONGEST);
        ApprovalPoll::PollAgain(pause)
    }
}

/// Sleeps, in the caller's thread.
pub(crate) struct Sleep(Instant);

impl Sleep {
    /// A wait that begins now.
    pub(crate) fn begin() -> Sleep {
        Sleep(Instant::now())
    }
}

impl Sleeper for Sleep {
    fn elapsed(&mut self) -> Duration {
        self.0.elapsed()
    }

    fn pause(&mut self, time: Duration) -> Result<()> {
        std::thread::sleep(time);
        Ok(())
    }
}

impl Service {
    /// Waits until a user has answered, until the request has expired, or for so long as `deadline`
    /// says; then the status is still [`ApprovalStatus::Pending`]. Ask
    /// [`approved_by`](Approval::approved_by) of what comes back.
    ///
    /// It asks the service again and again, at first after half a second and then ever more seldom,
    /// down to every 5 seconds. A service that is busy or out of reach is asked again too. No
    /// question lasts longer than the deadline leaves, or 100 ms where it leaves less.
    ///
    /// A request that is pending at the end can still be approved: ask for one that expires with
    /// the login, in `seconds_to_expire`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the request is that of another user: one's own approval must not
    /// open somebody else's door. [`Error::InvalidResponse`] when the service does not tell whose it is.
    /// What kept the last question from an answer, when none came before the deadline; else as
    /// [`Error`] says.
    pub fn wait_for_approval(
        &self,
        uuid: &ApprovalId,
        user_id: UserId,
        deadline: Duration,
    ) -> Result<Approval> {
        self.wait_for_approval_with(uuid, user_id, deadline, &mut Sleep::begin())
    }

    /// As [`Service::wait_for_approval`], where the time passes as `sleeper` says: a program that can
    /// be interrupted ends the wait so, and a test need not wait.
    ///
    /// # Errors
    /// As [`Service::wait_for_approval`], and with what `sleeper` ends it.
    pub fn wait_for_approval_with(
        &self,
        uuid: &ApprovalId,
        user_id: UserId,
        deadline: Duration,
        sleeper: &mut dyn Sleeper,
    ) -> Result<Approval> {
        let mut wait = ApprovalWait::new(uuid.clone(), user_id, deadline);
        pass(|wait, elapsed| self.poll_approval(wait, elapsed), &mut wait, sleeper)
    }

    /// Asks once for the answer that `wait` waits for, and says whether and when to ask again.
    /// `elapsed` tells how long it has been since the wait began, by a clock that is never set
    /// back. What ends the wait is what [`Service::wait_for_approval`] gives.
    pub fn poll_approval(
        &self,
        wait: &mut ApprovalWait,
        elapsed: &mut dyn FnMut() -> Duration,
    ) -> ApprovalPoll {
        let call = CheckApproval::new(wait.uuid.clone());
        wait.poll(|left| self.within(left.max(BRIEF)).handle(&call), elapsed)
    }
}

/// Asks until the wait is over, and passes the time in between.
fn pass(
    mut ask: impl FnMut(&mut ApprovalWait, &mut dyn FnMut() -> Duration) -> ApprovalPoll,
    wait: &mut ApprovalWait,
    sleeper: &mut dyn Sleeper,
) -> Result<Approval> {
    loop {
        match ask(wait, &mut || sleeper.elapsed()) {
            ApprovalPoll::Finished(found) => return found,
            ApprovalPoll::PollAgain(time) => sleeper.pause(time)?,
        }
    }
}

impl Service {
    /// The same service, whose calls take no longer than this.
    #[cfg(feature = "remote")]
    fn within(&self, left: Duration) -> Service {
        self.remote(|remote| remote.timeout = remote.timeout.min(left))
    }

    /// An engine in this process waits for nobody.
    #[cfg(not(feature = "remote"))]
    fn within(&self, _: Duration) -> Service {
        self.clone()
    }
}

/// A status that this library does not know may still become one that it knows.
fn is_open(approval: &Approval) -> bool {
    matches!(approval.status, ApprovalStatus::Pending | ApprovalStatus::Unknown)
}

/// The request, if it is this one and this user's.
fn own(approval: Approval, uuid: &ApprovalId, user_id: UserId) -> Result<Approval> {
    if approval.uuid.as_ref().is_some_and(|given| given != uuid) {
        return Err(Error::invalid_response("it is about another approval request"));
    }
    match approval.user_id {
        Some(owner) if owner == user_id => Ok(approval),
        Some(_) => Err(Error::invalid_argument("uuid", "is the approval request of another user")),
        None => Err(Error::invalid_response("it does not tell whose approval request this is")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time that passes only in pauses, and what it was asked for.
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

    /// What comes of these answers, the last of which is given for ever, and the pauses.
    fn waited(deadline: u64, answers: Vec<Result<Approval>>) -> (Result<Approval>, Vec<u64>) {
        let (mut sleeper, mut answers) = (ManualSleeper::default(), answers.into_iter().peekable());
        let mut ask = |_: Duration| {
            let next = answers.next().unwrap();
            if answers.peek().is_none() {
                answers = vec![next.clone()].into_iter().peekable();
            }
            next
        };
        let (uuid, user) = ("a-1".parse().unwrap(), 7.try_into().unwrap());
        let mut wait = ApprovalWait::new(uuid, user, Duration::from_secs(deadline));
        let poll = |wait: &mut ApprovalWait, elapsed: &mut dyn FnMut() -> Duration| {
            wait.poll(&mut ask, elapsed)
        };
        let found = pass(poll, &mut wait, &mut sleeper);
        (found, sleeper.0)
    }

    use ApprovalStatus::*;

    #[test]
    fn ends_when_the_user_answered() {
        for status in [Approved, Denied, Expired] {
            let answers = [Pending, Unknown, status].map(|s| Ok(approval(s, Some(7))));
            let (found, pauses) = waited(60, answers.into());
            let found = found.unwrap();
            assert_eq!((found.status, pauses), (status, vec![500, 750]));
            assert_eq!(found.approved_by(7.try_into().unwrap()), status == Approved);
            assert!(!found.approved_by(8.try_into().unwrap()));
        }
    }

    #[test]
    fn asks_ever_more_seldom_and_ends_at_the_deadline() {
        let (found, pauses) = waited(20, vec![Ok(approval(Pending, Some(7)))]);
        assert_eq!(found.unwrap().status, Pending);
        assert_eq!(pauses.iter().sum::<u64>(), 20_000);
        assert_eq!(pauses, [500, 750, 1125, 1687, 2531, 3796, 5000, 4611]);
        assert!(waited(0, vec![Ok(approval(Pending, Some(7)))]).1.is_empty());
        let forever = vec![Ok(approval(Pending, Some(7))), Ok(approval(Denied, Some(7)))];
        assert_eq!(waited(u64::MAX, forever).0.unwrap().status, Denied);
    }

    #[test]
    fn refuses_what_is_not_surely_the_users() {
        let invalid = waited(60, vec![Ok(approval(Approved, Some(8)))]).0;
        assert!(
            matches!(invalid, Err(Error::InvalidArgument { parameter, .. }) if parameter == "uuid")
        );
        for (status, owner) in [(Approved, None), (Pending, None)] {
            let (found, pauses) = waited(60, vec![Ok(approval(status, owner))]);
            assert!(matches!(found, Err(Error::InvalidResponse { .. })) && pauses.is_empty());
        }
        let mut other = approval(Approved, Some(7));
        other.uuid = Some("b-2".parse().unwrap());
        assert!(matches!(waited(60, vec![Ok(other)]).0, Err(Error::InvalidResponse { .. })));
    }

    #[test]
    fn a_service_that_is_busy_is_asked_again_and_one_that_says_no_is_not() {
        let wait = |seconds| Some(Duration::from_secs(seconds));
        let busy = |s| Error::RateLimited { message: "busy".into(), retry_after: wait(s) };
        let gone = Error::Unavailable { stage: Stage::Response, message: "gone".into() };
        let found = Ok(approval(Approved, Some(7)));
        let (answer, pauses) = waited(60, vec![Err(busy(3)), Err(gone.clone()), found]);
        assert!(answer.is_ok() && pauses == [3000, 750], "{pauses:?}");
        assert_eq!(waited(2, vec![Err(gone.clone())]).0, Err(gone));
        let (answer, pauses) = waited(2, vec![Err(busy(3600))]);
        assert_eq!((answer, pauses), (Err(busy(3600)), vec![2000]));
        let key = Error::Unauthorized { message: String::new() };
        assert_eq!(waited(60, vec![Err(key.clone())]), (Err(key), vec![]));
    }
}
