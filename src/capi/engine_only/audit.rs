//! The audit of an engine, as pages of C.

use crate::capi::audit::{seconder_audit_entry, seconder_audit_options, seconder_audit_page};
use crate::capi::ffi::{self, Outcome, Text, named, number_if};
use crate::capi::items::{Items, MadeOf, Texts};
use crate::capi::open::seconder_service;
use crate::engine::{AuditEntry, AuditFilter, Engine};
use crate::model::UserId;

/// The most decisions of a page, by default.
const MOST: u32 = 100;

/// # Safety
/// The texts of the options are NULL or NUL-terminated.
pub(crate) unsafe fn audit(
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
    let (entries, next) = (Items::new(&page.entries), Text::of(page.next.as_deref()));
    Ok(seconder_audit_page { entries, next })
}

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
        }
    }
}
