//! Compares what is written by hand in the C header with the Rust sources. Items that C names differently are listed
//! with the reason.

use super::sources::{
    Takes, constant_case, functions, members, methods, parameters, variant_fields, variants,
};
use super::{fields, read};
use seconder::engine::AuditFilter;
use std::collections::BTreeSet;

const HEADER: &str = "include/seconder.h";

/// An item of Rust that C names differently. If `c` is empty, C has no separate item for it.
struct Mapped {
    rust: &'static str,
    c: &'static [&'static str],
    why: &'static str,
}

const fn mapped(rust: &'static str, c: &'static [&'static str], why: &'static str) -> Mapped {
    Mapped { rust, c, why }
}

/// Fails unless C has an item for each of `names`: `prefix` and the name, or what `others` maps it
/// to. Returns the names of those items.
fn expect_all(
    what: &str,
    names: &[String],
    prefix: &str,
    others: &[Mapped],
    there: &BTreeSet<String>,
) -> BTreeSet<String> {
    assert!(!names.is_empty(), "{what}: nothing was found to compare");
    for other in others {
        assert!(names.iter().any(|name| name == other.rust), "{what} has no `{}`", other.rust);
        assert!(!other.why.is_empty(), "{what}: say why `{}` is named differently", other.rust);
    }
    let of = |name: &String| -> Vec<String> {
        match others.iter().find(|other| other.rust == name) {
            Some(other) => other.c.iter().map(|c| (*c).to_owned()).collect(),
            None => vec![format!("{prefix}{name}")],
        }
    };
    let wanted: BTreeSet<String> = names.iter().flat_map(of).collect();
    let lacking: Vec<&String> = wanted.difference(there).collect();
    assert!(lacking.is_empty(), "{HEADER}:1: {what}: lacks {lacking:?}: add it in src/capi");
    wanted
}

/// As [`expect_all`], for a struct of C, which may have no other fields except `own`.
fn is_struct(what: &str, names: &[String], c: &str, others: &[Mapped], own: &[&str]) {
    let there = c_struct(c);
    let wanted = expect_all(what, names, "", others, &there);
    let companion = |name: &String| {
        let list = ["_count", "_size", "_userdata", "_userdata_free"];
        list.iter().any(|end| name.strip_suffix(end).is_some_and(|n| there.contains(n)))
    };
    let more: Vec<&String> = there
        .difference(&wanted)
        .filter(|name| !companion(name) && !own.contains(&name.as_str()))
        .collect();
    assert!(more.is_empty(), "{HEADER}:1: struct {c}: Rust has no {more:?}");
}

#[test]
fn every_struct_that_is_written_by_hand_has_the_fields_of_its_rust_type() {
    let request = members("src/engine/handlers/approvals.rs", "ApprovalRequest");
    is_struct("ApprovalRequest", &request, "seconder_approval_request", &[], &[]);
    let entry = members("src/engine/handlers/audit.rs", "AuditEntry");
    let time = [mapped("time", &["time_ms"], "Unix seconds need no unit in a name, others do")];
    is_struct("AuditEntry", &entry, "seconder_audit_entry", &time, &[]);
    let filter: Vec<String> = fields::<AuditFilter>().iter().map(|n| (*n).to_owned()).collect();
    is_struct("AuditFilter", &filter, "seconder_audit_options", &[], &["after", "most"]);
    let message = members("src/engine/delivery.rs", "Message");
    is_struct("Message", &message, "seconder_sent_message", &[], &["user_id"]);
    let received = members("src/callback.rs", "Received");
    is_struct("Received", &received, "seconder_callback", &[], &[]);
    let seen = members("src/callback/replay.rs", "ReplayEntry");
    is_struct("ReplayEntry", &seen, "seconder_replay_entry", &[], &[]);
}

#[test]
fn every_field_of_events_messages_and_devices_has_an_accessor() {
    let there = c_functions();
    let event = members("src/callback/event.rs", "Event");
    expect_all("Event", &event, "seconder_event_", &[], &there);
    let message = members("src/engine/delivery.rs", "Message");
    expect_all("Message", &message, "seconder_message_", &[], &there);
    let callback = members("src/engine/delivery.rs", "SignedCallback");
    let headers = ["count", "name", "value"];
    let headers = headers.map(|part| format!("seconder_signed_callback_header_{part}"));
    assert!(headers.iter().all(|name| there.contains(name)), "headers of callbacks");
    let listed = [
        mapped("headers", &["seconder_signed_callback_header_count"], "a list is counted"),
        mapped(
            "body",
            &["seconder_signed_callback_body", "seconder_signed_callback_body_size"],
            "bytes are a pointer and a size",
        ),
    ];
    expect_all("SignedCallback", &callback, "seconder_signed_callback_", &listed, &there);
    let run = members("src/engine/handlers/jobs.rs", "JobsRun");
    expect_all("JobsRun", &run, "seconder_jobs_run_", &[], &there);
    let outcome = variant_fields("src/engine/delivery.rs", "Outcome");
    // Several outcomes have the same ones.
    let outcome: BTreeSet<_> = outcome.into_iter().collect();
    let details = ["set_retry_after_ms", "set_reason"];
    for handle in ["message", "signed_callback"] {
        let named = |name: &str| format!("seconder_{handle}_{name}");
        assert!(details.iter().all(|name| there.contains(&named(name))), "{handle}: {outcome:?}");
    }
    assert_eq!(outcome.len(), details.len(), "{outcome:?}");
    let line = members("src/engine/model/lines.rs", "PhoneLine");
    expect_all("PhoneLine", &line, "seconder_phone_line_set_", &[], &there);
    let page = members("src/engine/handlers/audit.rs", "AuditPage");
    let listed = [mapped("entries", &["seconder_audit_page_entry_count"], "a list is counted")];
    expect_all("AuditPage", &page, "seconder_audit_page_", &listed, &there);
    let device = members("src/engine/model/devices.rs", "DeviceRegistered");
    let id = [mapped("device_id", &["seconder_device_id"], "the name has `device` already")];
    expect_all("DeviceRegistered", &device, "seconder_device_", &id, &there);
}

#[test]
fn every_field_of_an_error_has_an_accessor() {
    let mut names = members("src/error.rs", "Rejection");
    names.extend(variant_fields("src/error.rs", "Error"));
    names.sort();
    names.dedup();
    let others = [
        mapped(
            "code",
            &["seconder_error_service_code"],
            "it is the service's code, not C's status",
        ),
        mapped(
            "message",
            &["seconder_error_message", "seconder_error_service_message"],
            "the whole text, and the service's part of it",
        ),
        mapped("reason", &["seconder_error_field_text"], "the parameter is the only field"),
        mapped("sent", &["seconder_error_retry_safe"], "a call that was not sent can be retried"),
        mapped("reads", &["seconder_error_retry_safe"], "a call that only reads can be retried"),
        mapped("status", &["seconder_error_http_status"], "`status` is C's own"),
        mapped(
            "fields",
            &[
                "seconder_error_field_count",
                "seconder_error_field_name",
                "seconder_error_field_text",
            ],
            "a list is counted",
        ),
    ];
    expect_all("Error", &names, "seconder_error_", &others, &c_functions());
    let methods = methods("src/error.rs", "Error", |takes| takes == Takes::ByReference);
    let others = [
        mapped("code", &["seconder_error_service_code"], "as above"),
        mapped("retry_after_seconds", &["seconder_error_retry_after"], "C has no type for times"),
    ];
    expect_all("Error", &methods, "seconder_error_", &others, &c_functions());
}

#[test]
fn names_have_every_part() {
    let names = methods("src/wire/names.rs", "Names", |takes| takes == Takes::ByValue);
    is_struct("Names", &names, "seconder_names", &[], &["word"]);
}

#[test]
fn every_method_of_the_service_and_the_engine_has_a_function() {
    let service = [
        methods("src/service.rs", "Service", |_| true),
        methods("src/service/browsers.rs", "Service", |_| true),
        methods("src/service/waiting.rs", "Service", |_| true),
        methods("src/service/making.rs", "Service", |_| true),
        methods("src/service/operating.rs", "Service", |_| true),
    ];
    const WITH: &[&str] = &["seconder_service_with"];
    let others = [
        mapped("engine", &[], "the engine's functions take the service"),
        mapped("require_engine", &[], "as `engine`"),
        mapped("with_timeout", WITH, "one function for all that a second handle changes"),
        mapped("with_repeats", WITH, "as `with_timeout`"),
        mapped("with_interrupt", &["seconder_service_cancel"], "each handle has a flag of its own"),
        mapped("with_log", &["seconder_set_log"], "it can be replaced"),
        mapped("with_engine", &[], "the engine's functions are made with it"),
        mapped("operate_json", &["seconder_operate"], "C has no other way than by names"),
        mapped("handle_with_body", &[], "C exposes only the fields of the interface"),
        mapped(
            "poll_approval",
            &["seconder_wait_for_approval"],
            "a callback of the caller's can end the wait",
        ),
        mapped("wait_for_approval_with", &["seconder_wait_for_approval"], "an option of it"),
    ];
    expect_all("Service", &service.concat(), "seconder_", &others, &c_functions());
    let files = [
        "src/engine/core.rs",
        "src/engine/handlers/applications.rs",
        "src/engine/handlers/approvals.rs",
        "src/engine/handlers/audit.rs",
        "src/engine/handlers/backups.rs",
        "src/engine/handlers/devices.rs",
        "src/engine/handlers/jobs.rs",
        "src/engine/handlers/sandbox.rs",
    ];
    let engine = files.map(|file| methods(file, "Engine", |_| true)).concat();
    let others = [
        mapped("names", &[], "for a server in front of the engine; C has set them itself"),
        mapped("for_request", &[], "for a server in front of the engine"),
        mapped("read_settings_again", &[], "for a server in front of the engine"),
        mapped("application_settings", &[], "an operation has them: app.show"),
        mapped("authenticate", &[], "for a server in front of the engine"),
        mapped(
            "callback_lanes",
            &[],
            "for a server in front of the engine, which has threads of its own",
        ),
        mapped("maintain", &[], "for a server in front of the engine; every few calls do it too"),
        mapped(
            "spend_codes",
            &[],
            "for operators, after a machine was set back: `seconder spend-codes`",
        ),
    ];
    expect_all("Engine", &engine, "seconder_", &others, &c_functions());
}

#[test]
fn callbacks_and_totp_are_complete() {
    let there = c_functions();
    let functions = functions("src/callback.rs");
    expect_all("callback", &functions, "seconder_callback_", &[], &there);
    let verifier = "src/callback/verifier.rs";
    let calls = methods(verifier, "Verifier", |takes| takes != Takes::ByValue);
    expect_all("Verifier", &calls, "seconder_verifier_", &[], &there);
    let options = methods(verifier, "Verifier", |takes| takes == Takes::ByValue);
    let others = [
        mapped("url", &["urls"], "a list in place of many calls"),
        mapped("fresh", &["fresh_seconds"], "the name of a number includes its unit"),
        mapped("replay", &["replay", "replay_capacity"], "a function, or replay::Memory"),
    ];
    is_struct("Verifier", &options, "seconder_verifier_options", &others, &[]);
    let totp = methods("src/otp.rs", "Totp", |_| true);
    expect_all("Totp", &totp, "seconder_totp_", &[], &there);
    let new = parameters("src/otp.rs", "Totp", "new");
    let secret = [mapped("secret", &[], "an argument of seconder_totp_new()")];
    is_struct("Totp::new", &new, "seconder_totp_options", &secret, &[]);
}

#[test]
fn every_enum_variant_has_a_constant() {
    let there = c_constants();
    let is = |file: &str, name: &str, prefix: &str| {
        let names: Vec<String> =
            variants(file, name).iter().map(|variant| constant_case(variant)).collect();
        expect_all(name, &names, prefix, &[], &there);
    };
    is("src/error.rs", "Error", "SECONDER_");
    is("src/error.rs", "Stage", "SECONDER_STAGE_");
    is("src/engine/delivery.rs", "Outcome", "SECONDER_OUTCOME_");
    is("src/engine/model/lines.rs", "LineType", "SECONDER_LINE_TYPE_");
    is("src/calls/check_approval.rs", "ApprovalStatus", "SECONDER_APPROVAL_");
    is("src/wire.rs", "Format", "SECONDER_FORMAT_");
    is("src/wire.rs", "Generation", "SECONDER_GENERATION_");
    is("src/model/application.rs", "CallbackMethod", "SECONDER_CALLBACK_METHOD_");
    is("src/remote.rs", "Repeats", "SECONDER_REPEATS_");
    is("src/otp.rs", "Algorithm", "SECONDER_ALGORITHM_");
    is("login/src/conversation.rs", "Style", "SECONDER_PROMPT_");
}

#[test]
fn every_outcome_of_a_login_has_a_status() {
    let there = c_constants();
    let names = |name: &str| -> Vec<String> {
        let all = variants("login/src/outcome.rs", name);
        all.iter().map(|variant| constant_case(variant)).collect()
    };
    let others = [
        mapped("ACCEPTED", &["SECONDER_OK"], "only it lets the user in"),
        mapped("NO_TERMINAL", &["SECONDER_LOGIN_NO_ANSWER"], "users of a daemon have no terminal"),
        mapped("TROUBLE", &[], "each kind of it has a status"),
    ];
    let outcomes = expect_all("Outcome", &names("Outcome"), "SECONDER_LOGIN_", &others, &there);
    let others = [
        mapped("CONFIGURATION", &["SECONDER_LOGIN_MISCONFIGURED"], "it says what is wrong"),
        mapped("SERVICE", &["SECONDER_INVALID_RESPONSE"], "the status of such a call"),
    ];
    let trouble = expect_all("Trouble", &names("Trouble"), "SECONDER_", &others, &there);
    assert_eq!(outcomes.union(&trouble).count(), 11, "no two of them have the same");
}

#[test]
fn every_fact_of_a_login_is_an_argument_or_an_option() {
    let facts = members("login/src/dialogue.rs", "Login");
    let others = [
        mapped("user", &[], "an argument of seconder_login()"),
        mapped("typed_before", &["typed"], "the comment says when"),
        mapped("run_command", &[], "the library starts no programs"),
        mapped("machine", &[], "only tests in Rust replace the machine"),
        mapped("started_by_user", &[], "the library asks the system"),
    ];
    let own = ["config_file", "settings", "journal", "holds_text_back"];
    is_struct("Login", &facts, "seconder_login_options", &others, &own);
}

/// The names of the header's functions.
pub(crate) fn c_functions() -> BTreeSet<String> {
    let header = super::without_comments(&read(HEADER));
    let named = header.lines().filter_map(|line| {
        let (before, _) = line.split_once('(')?;
        let (kind, name) = before.rsplit_once([' ', '*'])?;
        let is_function = !line.starts_with([' ', '#']) && !line.starts_with("typedef");
        (is_function && name.starts_with("seconder_") && !kind.is_empty()).then(|| name.to_owned())
    });
    named.collect()
}

fn c_struct(name: &str) -> BTreeSet<String> {
    let header = super::without_comments(&read(HEADER));
    let fields = header
        .split_once(&format!("typedef struct {name} {{"))
        .and_then(|(_, rest)| rest.split_once('}'))
        .map_or("", |(fields, _)| fields);
    let field = |line: &str| line.trim().rsplit([' ', '*']).next().unwrap_or_default().to_owned();
    fields.split(';').map(field).filter(|name| !name.is_empty()).collect()
}

fn c_constants() -> BTreeSet<String> {
    let header = read(HEADER);
    let defined = header.lines().filter_map(|line| line.strip_prefix("#define "));
    defined.filter_map(|rest| Some(rest.split_once(' ')?.0.to_owned())).collect()
}
