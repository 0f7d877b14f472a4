//! Compares the hand-written modules of the Python package with the Rust sources. Items that Python
//! names differently are listed with the reason.

use super::{names, python_parameters as parameters, read, sources};
use seconder::calls::ROUTES;
use std::collections::BTreeSet;

const PACKAGE: &str = "bindings/python/seconder";

/// An item of Rust, the items that Python has for it, and why they are named differently.
type Mapped = (&'static str, &'static [&'static str], &'static str);

/// The names that Python must have for these names of Rust.
fn needed(what: &str, rust: &BTreeSet<String>, others: &[Mapped]) -> BTreeSet<String> {
    assert!(!rust.is_empty(), "{what}: nothing was found to compare");
    for (name, _, why) in others {
        assert!(rust.contains(*name), "{what} has no `{name}`");
        assert!(!why.is_empty(), "{what}: say why `{name}` is named differently");
    }
    let of = |name: &String| match others.iter().find(|(rust, ..)| rust == name) {
        Some((_, python, _)) => python.iter().map(|name| (*name).to_owned()).collect(),
        None => vec![name.clone()],
    };
    rust.iter().flat_map(of).collect()
}

#[track_caller]
fn same(what: &str, file: &str, python: &BTreeSet<String>, wanted: &BTreeSet<String>) {
    let lacking: Vec<&String> = wanted.difference(python).collect();
    let more: Vec<&String> = python.difference(wanted).collect();
    assert!(
        lacking.is_empty() && more.is_empty(),
        "{PACKAGE}/{file}:1: {what}: lacks {lacking:?}, has what Rust lacks: {more:?}"
    );
}

/// Checks that a class of `records.py` has these fields.
#[track_caller]
fn holds(class: &str, rust: &BTreeSet<String>) {
    same(class, "records.py", &attributes(&python("records.py"), class), rust);
}

#[test]
fn events_messages_and_devices_have_their_fields() {
    holds("ApprovalRequest", &members("src/engine/handlers/approvals.rs", "ApprovalRequest"));
    holds("DeviceRegistered", &members("src/engine/model/devices.rs", "DeviceRegistered"));
    holds("Event", &members("src/callback/event.rs", "Event"));
    holds("Message", &members("src/engine/delivery.rs", "Message"));
    holds("SignedCallback", &members("src/engine/delivery.rs", "SignedCallback"));
    holds("PhoneLine", &members("src/engine/model/lines.rs", "PhoneLine"));
    holds("JobsRun", &members("src/engine/handlers/jobs.rs", "JobsRun"));
    let module = python("outcomes.py");
    for kind in variants("src/engine/delivery.rs", "Outcome") {
        assert!(module.contains(&format!("class {kind}(Outcome):")), "outcomes.py lacks {kind}");
    }
    let fields = sources::variant_fields("src/engine/delivery.rs", "Outcome").into_iter().collect();
    same("Retry", "outcomes.py", &attributes(&module, "Retry"), &fields);
}

#[test]
fn names_have_every_part() {
    let others: [Mapped; 4] = [
        ("new", &["word"], "the word is a field like the others"),
        ("api_key", &["api_key_header"], "it is the name of the header, not the key"),
        ("signature", &["signature_header"], "it is the name of the header, not the signature"),
        ("nonce", &["nonce_header"], "it is the name of the header, not the nonce"),
    ];
    let mut rust = methods("src/wire/names.rs", "Names");
    rust.retain(|name| !name.contains("_wire"));
    let module = python("names.py");
    let mut shown = attributes(&module, "Names");
    shown.extend(functions(&module));
    same("Names", "names.py", &shown, &needed("Names", &rust, &others));
}

#[test]
fn every_method_of_the_service_and_the_engine_is_exposed() {
    let mut rust = BTreeSet::new();
    for file in [
        "src/service.rs",
        "src/service/making.rs",
        "src/service/operating.rs",
        "src/service/waiting.rs",
    ] {
        rust.extend(methods(file, "Service"));
    }
    for file in [
        "src/engine/core.rs",
        "src/engine/handlers/applications.rs",
        "src/engine/handlers/approvals.rs",
        "src/engine/handlers/audit.rs",
        "src/engine/handlers/backups.rs",
        "src/engine/handlers/devices.rs",
        "src/engine/handlers/jobs.rs",
        "src/engine/handlers/sandbox.rs",
    ] {
        rust.extend(methods(file, "Engine"));
    }
    rust.extend(["close".to_owned(), "reopen".to_owned()]);
    let others: [Mapped; 18] = [
        (
            "callback_lanes",
            &[],
            "for a server in front of the engine, which has threads of its own",
        ),
        ("audit", &["audit", "audit_pages"], "an iterator asks for one page after the other"),
        ("operate_json", &["operate"], "Python has no other way than by names"),
        ("with_interrupt", &["cancel"], "each handle has a flag of its own"),
        ("with_log", &[], "the logger `seconder` of logging"),
        ("with_engine", &[], "the engine's methods are made with it"),
        ("engine", &[], "Service has the engine's methods"),
        ("require_engine", &[], "as `engine`"),
        ("handle_with_body", &[], "each result has `extra`"),
        ("poll_approval", &[], "AsyncService.wait_for_approval polls with it"),
        ("wait_for_approval_with", &[], "Python waits by its own clock"),
        ("names", &[], "for a server in front of the engine"),
        ("for_request", &[], "for a server in front of the engine"),
        ("read_settings_again", &[], "for a server in front of the engine"),
        ("application_settings", &[], "an operation has them: app.show"),
        ("authenticate", &[], "for a server in front of the engine"),
        ("spend_codes", &[], "for operators, after a machine was set back: `seconder spend-codes`"),
        ("maintain", &[], "for a server in front of the engine; every few calls do it too"),
    ];
    let mut wanted = needed("Service", &rust, &others);
    wanted.extend(ROUTES.iter().map(|route| route.name.to_owned()));
    let mut shown = functions(&python("calls.py"));
    shown.extend(functions(&python("admin.py")));
    // The groups of calls that the service has in attributes.
    let groups = ["admin", "machines"];
    let own = functions(&python("service.py")).into_iter();
    shown.extend(own.filter(|name| !groups.contains(&name.as_str())));
    same("Service", "service.py", &shown, &wanted);
}

#[test]
fn callbacks_and_totp_are_complete() {
    let mut rust = methods("src/callback/verifier.rs", "Verifier");
    rust.extend(members("src/callback.rs", "Received"));
    let others: [Mapped; 3] = [
        ("new", &["api_key"], "its argument"),
        ("verify", &[], "the function itself"),
        ("parameters", &[], "it is verify_parameters()"),
    ];
    let module = python("callback.py");
    let shown = parameters(&module, "verify").unwrap_or_default();
    same("Verifier", "callback.py", &shown, &needed("Verifier", &rust, &others));
    let rust = sources::functions("src/callback.rs").into_iter().collect();
    let others: [Mapped; 1] = [("sign_query", &[], "sign() with method=\"GET\"")];
    let mut shown = functions(&module);
    shown.remove("first_time");
    same("callback", "callback.py", &shown, &needed("callback", &rust, &others));
    let mut rust = methods("src/otp.rs", "Totp");
    rust.extend(["generate".to_owned()]);
    let others: [Mapped; 1] = [("new", &[], "the class itself")];
    let shown = functions(&python("totp.py"));
    same("Totp", "totp.py", &shown, &needed("Totp", &rust, &others));
}

#[test]
fn every_error_has_its_class_and_its_attributes() {
    let module = python("errors.py");
    let classes =
        |line: &str| Some(line.strip_prefix("class ")?.split(['(', ':']).next()?.to_owned());
    let shown: BTreeSet<String> = module.lines().filter_map(classes).collect();
    let others: [Mapped; 3] = [
        (
            "TokenWrong",
            &["TokenInvalid"],
            "a wrong code of a user, which Rust has a verdict for, raises it",
        ),
        ("Storage", &["StorageError"], "the bare name does not say that it is an exception"),
        ("Internal", &["InternalError"], "the bare name does not say that it is an exception"),
    ];
    let mut wanted = needed("Error", &variants("src/error.rs", "Error"), &others);
    let own = ["SecondFactorError", "TokenInvalid", "NotChecked", "Timeout", "SpoolWarning"];
    wanted.extend(own.map(str::to_owned));
    // Kinds of `Rejected` and `TokenInvalid`, which Rust distinguishes by their codes.
    let kinds = [
        "AlreadyEnrolled",
        "AlreadyUsed",
        "ApprovalNotFound",
        "ApprovalNotPending",
        "UserNotFound",
        "VerificationNotFound",
    ];
    wanted.extend(kinds.map(str::to_owned));
    same("Error", "errors.py", &shown, &wanted);
    let mut rust = members("src/error.rs", "Rejection");
    rust.extend(sources::variant_fields("src/error.rs", "Error"));
    rust.extend(sources::methods("src/error.rs", "Error", |takes| {
        takes == sources::Takes::ByReference
    }));
    rust.extend(["reused".to_owned()]);
    // Ids are Python's, which makes one for each call.
    rust.extend(["request_id".to_owned()]);
    let others: [Mapped; 6] = [
        ("reads", &["retry_safe"], "a call that only reads can be retried"),
        ("retry_after_seconds", &["retry_after"], "a number of seconds in Python"),
        ("reason", &[], "it is the message"),
        ("sent", &["retry_safe"], "a call that was not sent can be retried"),
        ("status", &["http_status"], "the name says that it is the HTTP status"),
        ("timed_out", &[], "it is the class Timeout"),
    ];
    let attributes = shown.iter().flat_map(|class| attributes(&module, class)).collect();
    same("Error", "errors.py", &attributes, &needed("Error", &rust, &others));
}

#[test]
fn classes_and_functions_are_parsed_from_python() {
    let module = "class A(B):\n    x: int = 1\n    \"\"\"y: z\"\"\"\n\n    def f(self, a: int, *, b=(1, 2)):\n        \
        c: int = 1\n\nclass C:\n    y: int\n\ndef g(): pass";
    assert_eq!(attributes(module, "A"), names(&["x"]));
    assert_eq!(functions(module), names(&["f", "g"]));
    assert_eq!(parameters(module, "f").unwrap_or_default(), names(&["a", "b"]));
}

fn python(file: &str) -> String {
    read(&format!("{PACKAGE}/{file}"))
}

/// The lines of a class, after its first.
fn body<'a>(module: &'a str, class: &str) -> impl Iterator<Item = &'a str> {
    let starts = [format!("class {class}("), format!("class {class}:")];
    let of = move |line: &&str| !starts.iter().any(|start| line.starts_with(start));
    let inside = |line: &&str| line.is_empty() || line.starts_with(' ');
    module.lines().skip_while(of).skip(1).take_while(inside)
}

/// The annotated attributes of a class.
fn attributes(module: &str, class: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let (name, _) = line.strip_prefix("    ")?.split_once(": ")?;
        name.bytes()
            .all(|b| b.is_ascii_lowercase() || b"_0123456789".contains(&b))
            .then(|| name.to_owned())
    };
    let mut quoted = false;
    let code = body(module, class).filter(move |line| {
        let marks = line.matches("\"\"\"").count();
        let shown = !quoted && marks == 0;
        quoted ^= marks == 1;
        shown
    });
    code.filter_map(name).collect()
}

/// The public functions and methods of a module.
fn functions(module: &str) -> BTreeSet<String> {
    let defined = |line: &str| {
        let line = line.strip_prefix("    ").unwrap_or(line);
        let line = line.strip_prefix("async ").unwrap_or(line);
        let name = line.strip_prefix("def ")?.split('(').next()?;
        (!name.starts_with('_')).then(|| name.to_owned())
    };
    module.lines().filter_map(defined).collect()
}

/// The public methods and functions of a type.
fn methods(file: &str, name: &str) -> BTreeSet<String> {
    sources::methods(file, name, |_| true).into_iter().collect()
}

fn members(file: &str, name: &str) -> BTreeSet<String> {
    sources::members(file, name).into_iter().collect()
}

fn variants(file: &str, name: &str) -> BTreeSet<String> {
    sources::variants(file, name).into_iter().collect()
}
