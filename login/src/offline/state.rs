//! The cached state of one user, and its format.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use seconder::calls::OfflinePrepared;
use seconder::model::{Secret, Token, UserId};
use seconder::offline::{HASH_LENGTH, Hasher, KEY_LENGTH, MOST_STEPS};
use zeroize::Zeroizing;

/// The most logins that can wait to be reported. No further one is accepted until they were.
pub(super) const MOST_REPORTS: usize = 1000;
/// The most seconds by which codes may begin before or after the present: the clocks differ.
const SLACK: u64 = 24 * 60 * 60;

/// The number of codes of unknown steps that are remembered, and the seconds for which they are.
const MOST_USED: usize = 32;
const USED_FOR: u64 = 24 * 60 * 60;
/// The number of steps by which the clocks of this machine and of the service may differ.
const CLOCKS_DIFFER: u64 = 10;

/// The cache of one user. All times are in Unix seconds.
pub(super) struct State {
    pub(super) authenticator_id: u64,
    pub(super) digits: u64,
    pub(super) period: u64,
    /// The latest step that was used, by the service or here.
    pub(super) last_step: u64,
    pub(super) first_step: u64,
    pub(super) prepared_at: u64,
    pub(super) expires_at: u64,
    /// The latest time at which a code was checked.
    pub(super) last_seen: u64,
    /// Logins since the last one that the service checked.
    pub(super) logins: u32,
    pub(super) wrong_in_a_row: u32,
    pub(super) wrong_at: u64,
    pub(super) reports: Vec<Report>,
    /// Codes that the service has accepted, and whose steps were not known then.
    used: Vec<Used>,
    key: Zeroizing<[u8; KEY_LENGTH]>,
    hashes: Zeroizing<Vec<u8>>,
}

/// A login that the service has not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) step: u64,
    pub(super) time: u64,
}

/// A code that the service has accepted. It is of no more use, and codes that are prepared later say
/// which step is its.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Used {
    code: u64,
    digits: u64,
    time: u64,
}

impl State {
    /// Returns the state of a user for whom nothing is prepared.
    pub(super) fn empty() -> State {
        State {
            authenticator_id: 0,
            digits: 6,
            period: 30,
            last_step: 0,
            first_step: 0,
            prepared_at: 0,
            expires_at: 0,
            last_seen: 0,
            logins: 0,
            wrong_in_a_row: 0,
            wrong_at: 0,
            reports: Vec::new(),
            used: Vec::new(),
            key: Zeroizing::new([0; KEY_LENGTH]),
            hashes: Zeroizing::default(),
        }
    }

    /// Returns the state with codes that the service has prepared; `None` if they cannot be used.
    pub(super) fn new(
        user: UserId,
        reply: &OfflinePrepared,
        now: u64,
        before: Option<State>,
    ) -> Option<State> {
        let decode = |text: &Secret| STANDARD.decode(text.expose()).map(Zeroizing::new).ok();
        let key = decode(&reply.hash_key)?;
        let mut state = State {
            authenticator_id: reply.authenticator_id,
            digits: reply.digits,
            period: reply.period,
            last_step: reply.last_step,
            first_step: reply.first_step,
            prepared_at: now,
            expires_at: reply.expires_at,
            last_seen: now,
            logins: 0,
            wrong_in_a_row: 0,
            wrong_at: 0,
            reports: Vec::new(),
            used: Vec::new(),
            key: Zeroizing::new(key.as_slice().try_into().ok()?),
            hashes: decode(&reply.hashes)?,
        };
        let begins = state.first_step.checked_mul(state.period)?;
        let near = begins.abs_diff(now) <= SLACK && state.expires_at > now;
        if !(near && state.has_codes() && state.is_valid()) {
            return None;
        }
        if let Some(before) = before {
            state.follow(user, before);
        }
        Some(state)
    }

    /// Takes over the codes that were used before. The reply may be older than that: another login of the user, or this
    /// one, had a later code accepted after the service wrote it.
    fn follow(&mut self, user: UserId, before: State) {
        // Of another app, at most the codes that are shown now are lost. Steps of another length
        // cannot be compared, and belong to another app in any case.
        if before.period == self.period {
            self.last_step = self.last_step.max(before.last_step);
        }
        for used in &before.used {
            let Some(code) = used.code() else { continue };
            let step = self.find(user, &code, used.time, CLOCKS_DIFFER);
            self.last_step = self.last_step.max(step.unwrap_or(0));
        }
        self.reports = before.reports;
        self.used = before.used;
    }

    /// Notes that the service has accepted a code at this time. Codes of the same length that are no longer the user's,
    /// because the app was replaced, are removed.
    pub(super) fn use_up(&mut self, user: UserId, code: &Token, now: u64) {
        match self.find(user, code, now, CLOCKS_DIFFER) {
            Some(step) => self.last_step = self.last_step.max(step),
            // The code is a code by SMS or a recovery code.
            None if self.has_codes() && !self.has_length_of(code) => {}
            None => {
                self.expires_at = 0;
                self.hashes = Zeroizing::default();
                self.used.retain(|used| used.time.abs_diff(now) < USED_FOR);
                self.used.extend(Used::new(code, now));
                let too_many = self.used.len().saturating_sub(MOST_USED);
                self.used.drain(..too_many);
            }
        }
    }

    /// Returns whether there are codes to compare with.
    pub(super) fn has_codes(&self) -> bool {
        !self.hashes.is_empty()
    }

    fn is_valid(&self) -> bool {
        (6..=8).contains(&self.digits)
            && (1..=3600).contains(&self.period)
            && (self.has_codes() || self.expires_at == 0)
            && self.hashes.len().is_multiple_of(HASH_LENGTH)
            && self.hashes.len() as u64 <= MOST_STEPS * HASH_LENGTH as u64
            && self.reports.len() <= MOST_REPORTS
            && self.used.len() <= MOST_USED
            && self.first_step.checked_add(MOST_STEPS).is_some()
            && self.prepared_at < u64::MAX / 2
            && self.wrong_at < u64::MAX / 2
    }

    /// Returns whether the code has as many digits as the codes of the app.
    fn has_length_of(&self, code: &Token) -> bool {
        code.as_str().len() as u64 == self.digits
    }

    /// Returns the step of a code, if it is shown at this time or within so many steps of it. The
    /// running time does not depend on which it is.
    pub(super) fn find(&self, user: UserId, code: &Token, now: u64, within: u64) -> Option<u64> {
        if !self.has_length_of(code) {
            return None;
        }
        let hasher = Hasher::new(&self.key, user);
        hasher.find(&self.hashes, self.first_step, code, now / self.period, within)
    }

    pub(super) fn write(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Vec::with_capacity(256 + self.hashes.len());
        for number in self.numbers() {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        for report in &self.reports {
            bytes.extend_from_slice(&report.step.to_be_bytes());
            bytes.extend_from_slice(&report.time.to_be_bytes());
        }
        for number in self.used.iter().flat_map(|used| [used.code, used.digits, used.time]) {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(&*self.key);
        bytes.extend_from_slice(&self.hashes);
        Zeroizing::new(bytes)
    }

    fn numbers(&self) -> [u64; 13] {
        [
            self.authenticator_id,
            self.digits,
            self.period,
            self.last_step,
            self.first_step,
            self.prepared_at,
            self.expires_at,
            self.last_seen,
            self.logins.into(),
            self.wrong_in_a_row.into(),
            self.wrong_at,
            self.reports.len() as u64,
            self.used.len() as u64,
        ]
    }
}

impl Used {
    fn new(code: &Token, time: u64) -> Option<Used> {
        let digits = code.as_str().len() as u64;
        Some(Used { code: code.as_str().parse().ok()?, digits, time })
    }

    fn code(&self) -> Option<Token> {
        let width = usize::try_from(self.digits).ok().filter(|width| *width <= 20)?;
        format!("{:0width$}", self.code).parse().ok()
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("last_step", &self.last_step).finish_non_exhaustive()
    }
}

/// Reads the output of [`State::write`]; `None` for anything else.
pub(super) fn parse(mut bytes: &[u8]) -> Option<State> {
    let mut number = || -> Option<u64> {
        let (first, rest) = bytes.split_first_chunk::<8>()?;
        bytes = rest;
        Some(u64::from_be_bytes(*first))
    };
    let mut state = State {
        authenticator_id: number()?,
        digits: number()?,
        period: number()?,
        last_step: number()?,
        first_step: number()?,
        prepared_at: number()?,
        expires_at: number()?,
        last_seen: number()?,
        logins: number()?.try_into().ok()?,
        wrong_in_a_row: number()?.try_into().ok()?,
        wrong_at: number()?,
        ..State::empty()
    };
    let mut count = |most| usize::try_from(number()?).ok().filter(|count| *count <= most);
    let (reports, used) = (count(MOST_REPORTS)?, count(MOST_USED)?);
    for _ in 0..reports {
        state.reports.push(Report { step: number()?, time: number()? });
    }
    for _ in 0..used {
        state.used.push(Used { code: number()?, digits: number()?, time: number()? });
    }
    let (key, hashes) = bytes.split_first_chunk::<KEY_LENGTH>()?;
    state.key = Zeroizing::new(*key);
    state.hashes = Zeroizing::new(hashes.to_vec());
    state.is_valid().then_some(state)
}
