//! Logins while the service is unreachable: the codes that a machine may accept then.
//!
//! After a right code of an authenticator app, the login process asks the service for hashes of the
//! codes of the next days ([`seconder::calls::PrepareOffline`]) and keeps them in a file, sealed to
//! this machine. While the service is unreachable, a code is accepted if its hash is there and its
//! time step is later than every one that was used; the step is on disk before the user is let in.
//! Such logins are reported to the service before the next one that it checks.
//!
//! Limits: root of this machine can open the seal, and find the codes of these days by trying all
//! of them; anyone who restores an older copy of the whole folder can use a code again for as long
//! as it is shown; and a code that was used on another machine, or online and without this machine,
//! is accepted here once more while it is shown.
//!
//! The caller passes the time and the randomness, so that tests control them. No function here
//! starts a thread, reads the environment or writes outside the folder.

mod folder;
mod seal;
mod state;

pub use seal::{machine_id, system_random};

use folder::{Folder, Locked};
use seal::Seal;
use seconder::calls::{OfflineLogin, OfflinePrepared};
use seconder::model::{Token, UserId};
use state::{MOST_REPORTS, Report, State};
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// The folder of the files, unless the configuration names another one.
pub const DEFAULT_FOLDER: &str = "/var/lib/seconder-login";
/// The age of codes, in seconds, after which a user gets new ones at the next login.
const RENEWED_AFTER: u64 = 60 * 60;
/// The most logins that one report can have.
const AT_ONCE: usize = 100;
const A_DAY: u64 = 24 * 60 * 60;

/// Fills a buffer with unpredictable bytes, and returns whether it could.
pub type Random = fn(&mut [u8]) -> bool;

/// The limits of logins without the service: their time and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Days since the last login that the service checked, 1 to 7.
    pub days: u64,
    /// Logins since then, 1 to 100.
    pub logins: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { days: 3, logins: 5 }
    }
}

/// The caches of all users of one service on this machine.
pub struct Offline {
    folder: Folder,
    seal: Seal,
    limits: Limits,
    random: Random,
}

/// The verdict on a code.
#[must_use = "only OfflineVerdict::Accepted lets anyone in"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfflineVerdict {
    /// The code is right, and was not used before. This is on disk already.
    Accepted {
        /// The number of further logins that are possible before the service must check one.
        logins_left: u32,
    },
    /// The code is wrong, or was used.
    Wrong,
    /// Too many wrong codes were typed: the user may try again after this time.
    Locked(Duration),
    /// No code can be accepted.
    Refused(Problem),
}

/// The reason why the cache is of no use. The text is for the operator, and holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The service has prepared nothing for the user, or not on this machine.
    NotPrepared,
    /// The last login that the service checked is too long ago.
    TooOld,
    /// The user has logged in without the service as often as allowed.
    TooMany,
    /// The clock is before the last login or wrong code.
    ClockBack,
    /// Another login of the user did not end in time.
    Busy,
    /// The cache was written by a newer version.
    Newer,
    /// The cache is damaged, or belongs to another machine, user or service.
    Damaged,
    /// The reply of the service cannot be used.
    Reply,
    /// The folder or a file cannot be used.
    Storage(String),
}

/// The logins that the service has not acknowledged yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reports {
    /// The id for [`seconder::calls::ReportOffline`].
    pub authenticator_id: u64,
    /// The logins, oldest first.
    pub logins: Vec<OfflineLogin>,
}

type Result<T> = std::result::Result<T, Problem>;

impl Offline {
    /// Opens the folder, which is created if it is missing, for the service with this URL. `machine`
    /// identifies the machine: see [`machine_id`]. The folder and those above it must belong to root
    /// or to the effective user, and others must not be able to write to them, nor read the folder.
    ///
    /// # Errors
    /// [`Problem::Storage`] describes the error in the folder.
    pub fn open(
        folder: &Path,
        service: &str,
        machine: &[u8],
        limits: Limits,
        random: Random,
    ) -> Result<Offline> {
        let limits = Limits { days: limits.days.clamp(1, 7), logins: limits.logins.clamp(1, 100) };
        let folder = Folder::open(folder)?;
        let seal = Seal::new(&folder, service, machine, random)?;
        Ok(Offline { folder, seal, limits, random })
    }

    /// Returns whether the service should prepare codes now: there are no codes, or they are an hour old.
    pub fn wants_codes(&self, user: UserId, now: u64) -> bool {
        match self.read(user) {
            Ok(state) => {
                let new = state.prepared_at..state.prepared_at + RENEWED_AFTER;
                state.expires_at <= now || !new.contains(&now)
            }
            Err(_) => true,
        }
    }

    /// Stores the codes that the service has prepared at this time, in Unix seconds. Reports that
    /// were not acknowledged stay.
    ///
    /// # Errors
    /// [`Problem::Reply`], and the errors of the folder. Nothing has changed then.
    pub fn prepared(&self, user: UserId, reply: &OfflinePrepared, now: u64) -> Result<()> {
        let lock = self.lock(user)?;
        let before = self.read(user).ok();
        let state = State::new(user, reply, now, before).ok_or(Problem::Reply)?;
        self.write(&lock, user, &state)
    }

    /// Notes that the service has accepted a code at this time, so that it is not accepted here as well, nor after
    /// [`Offline::prepared`] with a reply that is older. To be called before that, for every code that the service
    /// accepts. Codes of an app that was replaced are no longer the user's, and are removed. Of a cache that cannot be
    /// read, nothing remains.
    ///
    /// # Errors
    /// The errors of the folder. The caller should then call [`Offline::forget`].
    pub fn used_online(&self, user: UserId, code: &Token, now: u64) -> Result<()> {
        let lock = self.lock(user)?;
        let mut state = self.read(user).unwrap_or_else(|_| State::empty());
        state.use_up(user, code, now);
        // The service has checked this login, so the clock is what it is from now on.
        state.last_seen = now;
        state.logins = 0;
        state.wrong_in_a_row = 0;
        self.write(&lock, user, &state)
    }

    /// Returns the reason why no code of the user can be accepted at this time; `None` if one can. It saves the user a
    /// useless question.
    pub fn refusal(&self, user: UserId, now: u64) -> Option<Problem> {
        let state = self.read(user);
        state.and_then(|state| self.check_limits(&state, now)).err()
    }

    /// Checks a code while the service is unreachable, at this time in Unix seconds.
    pub fn check(&self, user: UserId, code: &Token, now: u64) -> OfflineVerdict {
        self.try_check(user, code, now).unwrap_or_else(OfflineVerdict::Refused)
    }

    fn try_check(&self, user: UserId, code: &Token, now: u64) -> Result<OfflineVerdict> {
        let lock = self.lock(user)?;
        let mut state = self.read(user)?;
        self.check_limits(&state, now)?;
        let wait = (state.wrong_at + wait_after(state.wrong_in_a_row)).saturating_sub(now);
        if state.wrong_in_a_row > 0 && wait > 0 {
            return Ok(OfflineVerdict::Locked(Duration::from_secs(wait)));
        }
        state.last_seen = now;
        let verdict = match state.find(user, code, now, 1) {
            Some(step) if step > state.last_step => {
                state.last_step = step;
                state.logins += 1;
                state.wrong_in_a_row = 0;
                state.reports.push(Report { step, time: now });
                OfflineVerdict::Accepted { logins_left: self.limits.logins - state.logins }
            }
            // As with the service, a code that was used does not count as a guess.
            Some(_) => OfflineVerdict::Wrong,
            None => {
                state.wrong_in_a_row = state.wrong_in_a_row.saturating_add(1);
                state.wrong_at = now;
                OfflineVerdict::Wrong
            }
        };
        // The verdict is on disk before it is returned.
        self.write(&lock, user, &state)?;
        Ok(verdict)
    }

    fn check_limits(&self, state: &State, now: u64) -> Result<()> {
        if !state.has_codes() {
            return Err(Problem::NotPrepared);
        }
        if now < state.last_seen {
            return Err(Problem::ClockBack);
        }
        let end = state.prepared_at.saturating_add(self.limits.days * A_DAY);
        if now >= state.expires_at.min(end) {
            return Err(Problem::TooOld);
        }
        match state.logins >= self.limits.logins || state.reports.len() >= MOST_REPORTS {
            true => Err(Problem::TooMany),
            false => Ok(()),
        }
    }

    /// Returns the logins to report to the service, at most as many as it takes at once; `None` if nothing is to be
    /// reported.
    ///
    /// # Errors
    /// If the cache cannot be read.
    pub fn reports(&self, user: UserId) -> Result<Option<Reports>> {
        let state = match self.read(user) {
            Err(Problem::NotPrepared) => return Ok(None),
            other => other?,
        };
        let logins = state.reports.iter().take(AT_ONCE);
        let logins: Vec<_> =
            logins.map(|report| OfflineLogin { step: report.step, time: report.time }).collect();
        let authenticator_id = state.authenticator_id;
        Ok((!logins.is_empty()).then_some(Reports { authenticator_id, logins }))
    }

    /// Notes that the service has acknowledged these reports.
    ///
    /// # Errors
    /// The errors of the folder. They are reported again then, which does no harm.
    pub fn acknowledged(&self, user: UserId, reports: &Reports) -> Result<()> {
        let lock = self.lock(user)?;
        let mut state = self.read(user)?;
        let known = |report: &Report| {
            reports.logins.iter().any(|l| (l.step, l.time) == (report.step, report.time))
        };
        state.reports.retain(|report| !known(report));
        self.write(&lock, user, &state)
    }

    /// Removes the codes of a user, such as one that the service no longer knows.
    ///
    /// # Errors
    /// The errors of the folder.
    pub fn forget(&self, user: UserId) -> Result<()> {
        let _lock = self.lock(user)?;
        self.folder.remove(&self.seal.file_of_user(user))
    }

    /// Remembers the user of a login name, for configurations in which the service maps names to users.
    ///
    /// # Errors
    /// The errors of the folder.
    pub fn remember(&self, login: &str, user: UserId) -> Result<()> {
        if self.remembered(login) == Some(user) {
            return Ok(());
        }
        let name = self.seal.file_of_login(login);
        let lock = self.folder.lock(&name)?;
        let sealed = self.seal.seal(&name, &user.get().to_be_bytes(), self.random)?;
        self.folder.replace(&lock, &name, &sealed)
    }

    /// Forgets the user of a login name, such as one that the service no longer knows.
    ///
    /// # Errors
    /// The errors of the folder.
    pub fn forget_login(&self, login: &str) -> Result<()> {
        self.folder.remove(&self.seal.file_of_login(login))
    }

    /// Returns the user of a login name that was remembered.
    pub fn remembered(&self, login: &str) -> Option<UserId> {
        let name = self.seal.file_of_login(login);
        let sealed = self.folder.read(&name).ok()??;
        let id = self.seal.unseal(&name, &sealed).ok()?;
        let id: [u8; 8] = id.as_slice().try_into().ok()?;
        UserId::try_from(u64::from_be_bytes(id)).ok()
    }

    fn lock(&self, user: UserId) -> Result<Locked> {
        self.folder.lock(&self.seal.file_of_user(user))
    }

    fn read(&self, user: UserId) -> Result<State> {
        let name = self.seal.file_of_user(user);
        let sealed = self.folder.read(&name)?.ok_or(Problem::NotPrepared)?;
        state::parse(&self.seal.unseal(&name, &sealed)?).ok_or(Problem::Damaged)
    }

    fn write(&self, lock: &Locked, user: UserId, state: &State) -> Result<()> {
        let name = self.seal.file_of_user(user);
        let sealed = self.seal.seal(&name, &state.write(), self.random)?;
        self.folder.replace(lock, &name, &sealed)
    }
}

/// Reads the text of a cache and writes it again; for the fuzz target.
#[doc(hidden)]
pub fn reread(text: &[u8]) -> Option<Vec<u8>> {
    state::parse(text).map(|state| state.write().to_vec())
}

/// Returns the seconds to wait after wrong codes in a row, as with the service: none after the
/// first three, then 2, 4, 8 … 32, 60, and 15 minutes from the tenth on.
fn wait_after(wrong_in_a_row: u32) -> u64 {
    match wrong_in_a_row {
        0..=3 => 0,
        4..=8 => 1 << (wrong_in_a_row - 3),
        9 => 60,
        _ => 15 * 60,
    }
}

impl fmt::Debug for Offline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offline").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Problem::NotPrepared => "no codes were prepared for the user on this machine",
            Problem::TooOld => "the last login that the service checked is too long ago",
            Problem::TooMany => "the user has logged in without the service as often as allowed",
            Problem::ClockBack => "the clock is before the last login",
            Problem::Busy => "another login of the user did not end in time",
            Problem::Newer => "the cache was written by a newer version",
            Problem::Damaged => {
                "the cache is damaged, or belongs to another machine, user or service"
            }
            Problem::Reply => "the codes that the service has prepared cannot be used",
            Problem::Storage(text) => text,
        })
    }
}
