//! The audit of an engine: what it has decided.

use super::error::seconder_error;
use super::ffi::{self, Plain, Text, free, pointer, read_handle, with_out};
use super::open::seconder_service;
use super::status::seconder_status;
use std::ffi::c_char;
use std::ptr;

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
    /// Only decisions with this verdict, such as "wrong"; one that does not exist is an invalid argument. NULL: all.
    pub verdict: *const c_char,
    /// The value of seconder_audit_page_next() of the page before. NULL: the first page.
    pub after: *const c_char,
    /// The most decisions on a page, 1 to 1000. Default: 100.
    pub most: u64,
    /// Only decisions of this call, such as "verify". NULL: all.
    pub call: *const c_char,
    /// Only decisions of calls that had this IPv4 or IPv6 address of the user. NULL: all.
    pub user_ip: *const c_char,
    /// Only decisions that the operator of this name made. NULL: all.
    pub operator_name: *const c_char,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_audit_options {}

/// A decision of the engine. It has no secret and no code.
#[repr(C)]
pub struct seconder_audit_entry {
    /// When, in milliseconds since the Unix epoch, by the clock of the process that decided.
    pub time: i64,
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
    /// The name of the operator who did it. NULL if none with a token did.
    pub operator_name: *const c_char,
}

/// A page of decisions, the latest first.
pub struct seconder_audit_page {
    entries: Vec<seconder_audit_entry>,
    /// Owns the texts that the pointers of `entries` point into.
    _texts: Vec<Text>,
    next: Option<Text>,
}

// SAFETY: the pointers point into the texts beside them, which never change.
unsafe impl Send for seconder_audit_page {}
// SAFETY: as above.
unsafe impl Sync for seconder_audit_page {}

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
            let service = ffi::need("service", service)?;
            within::audit(service, &ffi::options(options, options_size)?)
        })
    }
}

#[cfg(feature = "engine")]
mod within {
    use super::super::ffi::{Outcome, named, number_if};
    use super::*;
    use crate::engine::{AuditEntry, AuditFilter, Engine};
    use crate::model::UserId;

    /// The most decisions of a page, by default.
    const MOST: u32 = 100;

    /// # Safety
    /// The texts of the options are NULL or NUL-terminated.
    pub(super) unsafe fn audit(
        service: &seconder_service,
        options: &seconder_audit_options,
    ) -> Outcome<seconder_audit_page> {
        service.service.require_engine()?;
        let user_id = number_if(options.user_id).map(UserId::try_from).transpose();
        let user_id = named("user_id", user_id)?;
        // SAFETY: promised by the caller.
        let (after, verdict, call, user_ip, operator_name) = unsafe {
            (
                ffi::text_if("after", options.after)?,
                ffi::text_if("verdict", options.verdict)?,
                ffi::text_if("call", options.call)?,
                ffi::address("user_ip", options.user_ip)?,
                ffi::text_if("operator_name", options.operator_name)?,
            )
        };
        let filter = AuditFilter {
            user_id,
            since: number_if(options.since),
            until: number_if(options.until),
            verdict: verdict.map(str::to_owned),
            call: call.map(str::to_owned),
            user_ip,
            operator_name: operator_name.map(str::to_owned),
        };
        let most = number_if(options.most);
        let most = most.map_or(MOST, |most| u32::try_from(most).unwrap_or(u32::MAX));
        let read = |engine: &Engine| engine.audit(&filter, after, most);
        let page = service.service.with_engine("audit", user_id, read)?;
        let mut texts = Vec::new();
        let entries = page.entries.iter().map(|entry| show(entry, &mut texts)).collect();
        let next = Text::of(page.next.as_deref());
        Ok(seconder_audit_page { entries, _texts: texts, next })
    }

    fn show(entry: &AuditEntry, texts: &mut Vec<Text>) -> seconder_audit_entry {
        let mut keep = |text: Option<&str>| {
            let Some(text) = text.map(Text::new) else { return ptr::null() };
            let start = text.as_ptr();
            texts.push(text);
            start
        };
        seconder_audit_entry {
            time: entry.time,
            nonce: entry.nonce,
            app_id: entry.app_id,
            user_id: entry.user_id.unwrap_or_default(),
            times: entry.times.into(),
            call: keep(Some(&entry.call)),
            verdict: keep(Some(&entry.verdict)),
            reason: keep(entry.reason.as_deref()),
            factor: keep(entry.factor.as_deref()),
            number: keep(entry.number.as_deref()),
            user_ip: keep(entry.user_ip.as_deref()),
            over_limit: keep(entry.over_limit.as_deref()),
            operator_name: keep(entry.operator_name.as_deref()),
        }
    }
}

/// This build has no engine, so its function only returns an error.
#[cfg(not(feature = "engine"))]
mod within {
    use super::super::ffi::Outcome;
    use super::*;

    pub(super) unsafe fn audit(
        _: &seconder_service,
        _: &seconder_audit_options,
    ) -> Outcome<seconder_audit_page> {
        Err(ffi::no_engine())
    }
}

/// The number of decisions on the page.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_audit_page_entry_count(page: Option<&seconder_audit_page>) -> usize {
    read_handle(page, |page| page.entries.len())
}

/// The decision at `index`, the latest first, owned by `page`; NULL if `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_audit_page_entry(
    page: Option<&seconder_audit_page>,
    index: usize,
) -> *const seconder_audit_entry {
    read_handle(page, |page| page.entries.get(index).map_or(ptr::null(), ptr::from_ref))
}

/// The value to pass as `after` to read on, owned by `page`. NULL at the end.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_audit_page_next(page: Option<&seconder_audit_page>) -> *const c_char {
    read_handle(page, |page| pointer(&page.next))
}

/// Frees a page of seconder_audit(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_audit_page_free(page: Option<Box<seconder_audit_page>>) {
    free(page);
}
