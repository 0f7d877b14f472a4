//! The audit of an engine: what it has decided.

use super::error::seconder_error;
use super::ffi::{self, Plain, Text, engine_only, with_out};
#[cfg(feature = "engine")]
use super::ffi::{named, number_if};
use super::items::{Item, Items};
#[cfg(feature = "engine")]
use super::items::{MadeOf, Texts};
use super::open::seconder_service;
use super::status::seconder_status;
#[cfg(feature = "engine")]
use crate::engine::{AuditEntry, AuditFilter, Engine};
#[cfg(feature = "engine")]
use crate::model::UserId;
use std::ffi::c_char;

/// The most decisions of a page, by default.
const MOST: u32 = 100;

/// Options of seconder_audit(): which decisions to read.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_audit_options {
    /// Only decisions about this user. 0: about everybody.
    pub user_id: u64,
    /// Only decisions from this time on, in Unix seconds. 0: from the first one on.
    pub since: u64,
    /// Only decisions before this time, in Unix seconds. 0: up to the latest.
    pub until: u64,
    /// Only decisions with this verdict, such as "wrong", or with one of several that have commas in between; one that
    /// does not exist is an invalid argument. NULL: all.
    pub verdict: *const c_char,
    /// The value of seconder_audit_page_next() of the page before. NULL: the first page.
    pub after: *const c_char,
    /// The most decisions on a page, 1 to 1000. Default: 100.
    pub most: u64,
    /// Only decisions of this call, such as "verify". NULL: all.
    pub call: *const c_char,
    /// Only decisions of calls that had this IPv4 or IPv6 address of the user. NULL: all.
    pub user_ip: *const c_char,
    /// Only decisions that the operator, or the user of the machine, of this name made. NULL: all.
    pub operator_name: *const c_char,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_audit_options {}

/// A decision of the engine. It has no secret and no code.
#[repr(C)]
pub struct seconder_audit_entry {
    /// When, in milliseconds since the Unix epoch, by the clock of the process that decided.
    pub time_ms: i64,
    /// Distinguishes the decisions of one user and millisecond.
    pub nonce: i64,
    /// The application.
    pub app_id: i64,
    /// The user. 0 for a number that belongs to no user, and for the application.
    pub user_id: u64,
    /// The number of such decisions that it stands for. Decisions that change nothing, such as guesses that
    /// have to wait, are recorded at most once a minute for each user and kind.
    pub times: u64,
    /// The call, without `seconder_`, such as "verify"; "open" for the opening of the database.
    pub call: *const c_char,
    /// The decision, such as "right", "wrong" or "refused".
    pub verdict: *const c_char,
    /// The reason, such as "other_action"; for "configured" the names of what was changed. NULL if the
    /// verdict says it all.
    pub reason: *const c_char,
    /// "code", "authenticator" or "recovery_code"; several are joined by "+". NULL if there was none.
    pub factor: *const c_char,
    /// The number, masked. NULL if there was none.
    pub number: *const c_char,
    /// The address of the user. NULL if the call has none.
    pub user_ip: *const c_char,
    /// The limit that was reached. NULL if none was.
    pub over_limit: *const c_char,
    /// The name of the operator with a token who did it, or of the user of the machine who ran the command. NULL if
    /// the application did.
    pub operator_name: *const c_char,
    /// The id of the request, as it is in the log of the service. NULL for what no request made.
    pub request_id: *const c_char,
}

// SAFETY: its pointers come from `keep`.
unsafe impl Item for seconder_audit_entry {}

#[cfg(feature = "engine")]
impl MadeOf<AuditEntry> for seconder_audit_entry {
    fn new(entry: &AuditEntry, texts: &mut Texts) -> seconder_audit_entry {
        seconder_audit_entry {
            time_ms: entry.time,
            nonce: entry.nonce,
            app_id: entry.app_id,
            user_id: entry.user_id.unwrap_or_default(),
            times: entry.times.into(),
            call: texts.keep(Some(&entry.call)),
            verdict: texts.keep(Some(&entry.verdict)),
            reason: texts.keep(entry.reason.as_deref()),
            factor: texts.keep(entry.factor.as_deref()),
            number: texts.keep(entry.number.as_deref()),
            user_ip: texts.keep(entry.user_ip.as_deref()),
            over_limit: texts.keep(entry.over_limit.as_deref()),
            operator_name: texts.keep(entry.operator_name.as_deref()),
            request_id: texts.keep(entry.request_id.as_deref()),
        }
    }
}

/// A page of decisions, the latest first.
#[cfg_attr(false, c(freed = "a page of seconder_audit()"))]
pub struct seconder_audit_page {
    /// The decisions, the latest first. There may be none although more follow.
    pub(super) entries: Items<seconder_audit_entry>,
    /// The value to pass as `after` to read on. `None` at the end.
    #[cfg_attr(false, cpp(by_hand))]
    pub(super) next: Option<Text>,
}

/// Reads what an engine in this process has decided, the latest first, page by page: the audit.
///
/// Each page reads a limited number of rows by their keys, so it may hold fewer decisions than `most`,
/// also none, although more follow: read on until seconder_audit_page_next() is NULL. Decisions are
/// kept for the days of the limit `audit_days`, also those about a user who was deleted. Free `out`
/// with seconder_audit_page_free(). SECONDER_STORAGE if the database cannot be read;
/// SECONDER_INVALID_ARGUMENT if the service is a remote one, or for an `after` that no page returned.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_audit(
    service: Option<&seconder_service>,
    options: *const seconder_audit_options,
    options_size: usize,
    out: *mut *mut seconder_audit_page,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            engine_only!(service, |handle| {
                let options = ffi::options(options, options_size)?;
                handle.service.require_engine()?;
                let user_id = number_if(options.user_id).map(UserId::try_from).transpose();
                let user_id = named("user_id", user_id)?;
                let filter = AuditFilter {
                    user_id,
                    since: number_if(options.since),
                    until: number_if(options.until),
                    verdict: ffi::text_if("verdict", options.verdict)?.map(str::to_owned),
                    call: ffi::text_if("call", options.call)?.map(str::to_owned),
                    user_ip: ffi::address("user_ip", options.user_ip)?,
                    operator_name: ffi::text_if("operator_name", options.operator_name)?
                        .map(str::to_owned),
                };
                let after = ffi::text_if("after", options.after)?;
                let most = number_if(options.most)
                    .map_or(MOST, |most| most.try_into().unwrap_or(u32::MAX));
                let read = |engine: &Engine| engine.audit(&filter, after, most);
                let page = handle.service.with_engine("audit", user_id, read)?;
                let (entries, next) = (Items::new(&page.entries), Text::of(page.next.as_deref()));
                Ok(seconder_audit_page { entries, next })
            })
        })
    }
}
