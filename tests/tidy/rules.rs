//! What the project holds itself to, as lists.

pub(crate) const FUNCTION_LINES: usize = 70;
pub(crate) const FILE_LINES: usize = 460;

/// A call that is banned in `scope`, but for the places in `except`, and what stands in for it.
pub(crate) struct Ban {
    pub(crate) call: &'static [&'static str],
    pub(crate) scope: &'static [&'static str],
    pub(crate) except: &'static [&'static str],
    pub(crate) instead: &'static str,
}

pub(crate) const CODE: &[&str] =
    &["src/", "gateways/src/", "server/src/", "login/src/", "bindings/"];
pub(crate) const LIBRARY: &[&str] = &["src/", "login/src/", "bindings/"];

#[rustfmt::skip]
pub(crate) const BANS: &[Ban] = &[
    // `seconder enrol` recognises codes of the new key at a terminal, where no engine may be, and
    // login/src/machine.rs is what tests of offline logins replace. The receiver of a signed message
    // compares its time with its own clock, as clients do the end of a certificate and operators the log.
    // `seconder doctor` checks the clock of the machine.
    Ban { call: &["SystemTime", "::", "now"], scope: CODE,
          except: &["src/engine/model/clock.rs", "server/src/admin/enrol.rs", "login/src/machine.rs",
                    "gateways/src/http/signed.rs", "server/src/edge/certificate.rs",
                    "server/src/observe/log/entry.rs", "server/src/admin/input/moment.rs", "server/src/observe/traces.rs",
                    // A device has a clock of its own.
                    "server/src/approver/device.rs"],
          instead: "time is given: ask the engine's Clock" },
    // The log says how long a call took for the program, whichever clock its engine was given, and
    // Ctrl-C is looked for at intervals of the program's time.
    Ban { call: &["Instant", "::", "now"], scope: LIBRARY,
          except: &["src/remote", "src/service/waiting.rs", "src/call_log.rs",
                    "src/capi/log.rs", "bindings/python/src/interrupt.rs",
                    // How long a user is waited for, and a program that maps login names.
                    "login/src/terminal.rs", "login/src/streams.rs", "login/src/command.rs", "login/src/dialogue/push.rs",
                    "bindings/pam/src/terminal.rs"],
          instead: "time is given: take the deadline, or ask the engine's Clock" },
    Ban { call: &["env", "::", "var"], scope: LIBRARY, except: &[],
          instead: "a login process's environment decides nothing: take a setting" },
    Ban { call: &["env", "::", "var_os"], scope: LIBRARY, except: &[],
          instead: "a login process's environment decides nothing: take a setting" },
    Ban { call: &["env", "::", "vars"], scope: LIBRARY, except: &[],
          instead: "a login process's environment decides nothing: take a setting" },
    Ban { call: &["env", "::", "set_var"], scope: CODE, except: &[],
          instead: "the environment belongs to the process: take a setting" },
    Ban { call: &["thread", "::", "spawn"], scope: LIBRARY, except: &[],
          instead: "what a login process loads starts no thread: do it in the caller's call" },
    // The resolver of the system, which only a setting asks for, cannot be abandoned without a thread.
    Ban { call: &["thread", "::", "Builder"], scope: LIBRARY, except: &["src/remote/lookup/system.rs"],
          instead: "what a login process loads starts no thread: do it in the caller's call" },
    Ban { call: &["TcpStream", "::", "connect"], scope: CODE, except: &[],
          instead: "name servers, the proxy and the check of addresses are Dialer's: connect by one" },
    Ban { call: &["TcpStream", "::", "connect_timeout"], scope: CODE, except: &[],
          instead: "name servers, the proxy and the check of addresses are Dialer's: connect by one" },
    Ban { call: &["to_socket_addrs"], scope: CODE, except: &["src/remote/lookup/system.rs"],
          instead: "names are resolved by Dialer" },
    Ban { call: &["lookup_host"], scope: CODE, except: &[],
          instead: "names are resolved by Dialer" },
    Ban { call: &["process", "::", "exit"], scope: LIBRARY, except: &[],
          instead: "the process is the caller's: return an Error" },
    Ban { call: &["process", "::", "abort"], scope: LIBRARY, except: &[],
          instead: "the process is the caller's: return an Error" },
    Ban { call: &[".", "unwrap", "("], scope: CODE, except: &[],
          instead: "return an Error, with `?` or `ok_or_else`" },
    Ban { call: &[".", "expect", "("], scope: CODE, except: &[],
          instead: "return an Error, with `?` or `ok_or_else`" },
    Ban { call: &["todo", "!"], scope: CODE, except: &[],
          instead: "do it, or leave the feature out" },
    Ban { call: &["unimplemented", "!"], scope: CODE, except: &[],
          instead: "do it, or leave the feature out" },
    Ban { call: &["dbg", "!"], scope: CODE, except: &[],
          instead: "remove it" },
    Ban { call: &["println", "!"], scope: LIBRARY, except: &["bindings/c/build.rs", "bindings/pam/build.rs"],
          instead: "a library does not print: return it" },
    Ban { call: &["eprintln", "!"], scope: LIBRARY, except: &[],
          instead: "a library does not print: return it" },
    Ban { call: &["check_unless"], scope: CODE, except: &["src/otp.rs", "src/engine/operations/verify/guess.rs"],
          instead: "only operations/verify compares a code of an app: give it a Guess" },
    Ban { call: &["SentCode"], scope: &["src/engine/handlers", "src/engine/operator"], except: &[],
          instead: "only operations/ see the rows of codes: give operations/verify a Guess" },
    Ban { call: &["RecoveryCode"], scope: &["src/engine/handlers", "src/engine/operator"], except: &[],
          instead: "only operations/ see the rows of codes: give operations/verify a Guess" },
    Ban { call: &["unsafe"], scope: &["src/", "gateways/", "server/", "login/", "tests/", "examples/", "build.rs"],
          except: &["src/capi"],
          instead: "`unsafe` belongs to src/capi and bindings/: move it there or do without" },
];

/// Words that this project once had for what the field calls otherwise, in any text: prose, messages,
/// and the parts of names that `_` separates. Capitals do not count.
pub(crate) const WORDS: &[(&[&str], &str)] = &[
    (&["told"], "say what it is: reported, provided, given, a message"),
    (&["tell"], "say what it does: reports, shows, distinguishes"),
    (&["tells"], "say what it does: reports, shows, distinguishes"),
    (&["telling"], "say what it does: reports, shows, distinguishes"),
    (&["elsewhere"], "a service that is not in this process is a remote service"),
    (&["cannot", "be", "right"], "an argument is invalid"),
    (&["said", "no"], "a call is rejected, an approval is denied"),
    (&["makes", "no", "sense"], "a response is invalid, or could not be parsed"),
    (&["in", "peace"], "a user is snoozed"),
    (&["the", "house"], "it is the project, or its architecture"),
    (&["crosses", "a", "face"], "it crosses an FFI boundary"),
    (&["garbled"], "a response is invalid"),
    (&["quiet"], "a user is snoozed"),
    (&["envelope"], "the HTTP library is given a placeholder request"),
    (&["answerer"], "it is a backend, or a handler"),
];

/// Names of Rust that gave way to the field's.
pub(crate) const NAMES: &[(&str, &str)] = &[
    ("Garbled", "InvalidResponse"),
    ("Forged", "InvalidCallback"),
    ("Limited", "RateLimited"),
    ("Invalid", "InvalidArgument"),
    ("Refusal", "Rejection"),
    ("Resolving", "Dns"),
    ("Connecting", "Connect"),
    ("Securing", "Tls"),
    ("Asking", "Response"),
    ("Delivering", "Delivery"),
    ("Answer", "Handle, or a reply of its own name"),
    ("AnswerEvery", "HandleAll"),
    ("UserAnswer", "ApprovalResponse"),
    ("AnswerApproval", "RespondToApproval"),
    ("Line", "DisplayText"),
    ("Letter", "RawRequest"),
    ("lay_out", "stage_for_send"),
    ("Words", "Redactor"),
    ("Early", "ConnectError"),
    ("Later", "DeferredResolver"),
    ("Staged", "WithStage"),
    ("Way", "Connector"),
    ("Asked", "ApprovalPoll, AddApproval"),
    ("Pace", "Sleeper"),
    ("Wait", "ApprovalWait"),
    ("Seen", "MatchResult, ReplayEntry"),
    ("Standing", "VerifyState"),
    ("Found", "Match"),
    ("QUIET", "SNOOZE"),
    ("svc_id", "user_id: only the wire says svc_id"),
];

/// Names of C, C++ and Python, and of files, that gave way to the field's.
pub(crate) const OTHER_NAMES: &[(&str, &str)] = &[
    ("SECONDER_INVALID", "SECONDER_INVALID_ARGUMENT"),
    ("SECONDER_REFUSED", "SECONDER_REJECTED"),
    ("SECONDER_LIMITED", "SECONDER_RATE_LIMITED"),
    ("SECONDER_FORGED", "SECONDER_INVALID_CALLBACK"),
    ("SECONDER_STAGE_RESOLVING", "SECONDER_STAGE_DNS"),
    ("SECONDER_STAGE_CONNECTING", "SECONDER_STAGE_CONNECT"),
    ("SECONDER_STAGE_SECURING", "SECONDER_STAGE_TLS"),
    ("SECONDER_STAGE_ASKING", "SECONDER_STAGE_RESPONSE"),
    ("SECONDER_STAGE_DELIVERING", "SECONDER_STAGE_DELIVERY"),
    ("seconder_answer_approval", "seconder_respond_to_approval"),
    ("seconder_seen", "seconder_replay_entry"),
    ("seconder_check_svc_id", "seconder_is_well_formed_user_id"),
    ("seconder_check_token", "seconder_is_well_formed_token"),
    ("seconder_check_user_id", "seconder_is_well_formed_user_id"),
    ("seconder_check_uuid", "seconder_is_well_formed_uuid"),
    ("seconder_check_phone_number", "seconder_is_well_formed_phone_number"),
    ("seconder_approval_svc_id", "seconder_approval_user_id"),
    ("seconder_event_svc_id", "seconder_event_user_id"),
    ("answer_approval", "respond_to_approval"),
    ("ask_approval", "poll_approval"),
    ("Forged", "InvalidCallback"),
    ("Limited", "RateLimited"),
    ("UserAnswer", "ApprovalResponse"),
    ("letter.rs", "raw_request.rs"),
    ("hide.rs", "redact.rs"),
    ("explain.rs", "error_mapping.rs"),
    ("border.rs", "ffi.rs"),
];

/// Where the old words stay: where they are listed, and where others wrote them.
pub(crate) const OTHER_WORDS: &[&str] = &[
    "CHANGELOG.md",
    "LICENSE",
    "bindings/python/LICENSE",
    "server/LICENSE",
    "Cargo.lock",
    "fuzz/Cargo.lock",
    "fuzz/corpus/",
    "proptest-regressions/",
    "tests/tidy/rules.rs",
    "tests/vectors/",
];

/// Paths that a layer does not name, whichever way they are imported.
pub(crate) struct Layer {
    pub(crate) files: &'static [&'static str],
    pub(crate) except_files: &'static [&'static str],
    pub(crate) banned: &'static [&'static str],
    pub(crate) allowed: &'static [&'static str],
    pub(crate) why: &'static str,
}

pub(crate) const LAYERS: &[Layer] = &[
    Layer {
        files: &[
            "src/calls",
            "src/model",
            "src/wire",
            "src/callback",
            "src/offline.rs",
            "src/otp.rs",
        ],
        except_files: &[],
        banned: &[
            "std::net",
            "std::os",
            "std::fs",
            "std::env",
            "std::thread",
            "std::process",
            "std::time::SystemTime",
            "std::time::Instant",
            "httparse",
            "rustix",
            "socket2",
            "rusqlite",
            "getrandom",
            "uuid",
            "crate::engine",
            "crate::remote",
            "crate::service",
            "crate::capi",
        ],
        allowed: &["std::net::IpAddr", "std::net::Ipv4Addr", "std::net::Ipv6Addr"],
        why: "what says how a call looks opens no socket, reads no clock and draws no randomness: \
              take the value as an argument",
    },
    Layer {
        files: &["src/wire"],
        except_files: &[],
        banned: &["crate::calls", "crate::callback"],
        allowed: &[],
        why: "wire/ knows no call: move what knows it to calls/",
    },
    Layer {
        files: &["src/calls"],
        except_files: &["src/calls.rs", "src/calls/matched.rs", "src/calls/route.rs"],
        banned: &["crate::wire::Format", "crate::wire::form"],
        allowed: &[],
        why: "a call knows no format: its path is Route's matter, its body is calls.rs's",
    },
    Layer {
        files: &["src/calls"],
        except_files: &[],
        banned: &["crate::wire::json", "crate::wire::xml"],
        allowed: &[],
        why: "a call knows no format: go through wire::Format in calls.rs",
    },
    Layer {
        files: &["src/http"],
        except_files: &[],
        banned: &[
            "std::net",
            "std::os",
            "std::fs",
            "std::env",
            "std::thread",
            "std::process",
            "std::time::SystemTime",
            "std::time::Instant",
            "httparse",
            "rustix",
            "socket2",
            "crate::remote",
            "crate::service",
            "crate::capi",
        ],
        allowed: &[],
        why: "the HTTP edge does no I/O: a server gives it a request and sends its reply",
    },
    Layer {
        files: &["src/engine"],
        // What is stored as JSON is read like the bodies that it came with.
        except_files: &["src/engine/handlers/approvals/kept_json.rs"],
        banned: &[
            "httparse",
            "rustix",
            "socket2",
            "http",
            "crate::http",
            "httpdate",
            "axum",
            "std::net::TcpStream",
            "std::net::TcpListener",
            "std::net::UdpSocket",
            "crate::remote",
            "crate::wire::Format",
            "crate::wire::json",
            "crate::wire::xml",
        ],
        allowed: &[],
        why: "engine/ knows no HTTP: what must be sent is a value given to the one who sends",
    },
    Layer {
        files: &["src/engine/operations", "src/engine/store/view.rs", "src/engine/store/table.rs"],
        except_files: &[],
        banned: &[
            "rusqlite",
            "getrandom",
            "std::env",
            "std::fs",
            "std::io",
            "std::net",
            "std::process",
            "std::sync",
            "std::thread",
            "std::time::Instant",
            "std::time::SystemTime",
        ],
        allowed: &[],
        why: "a decision is a pure function: give it the time and what is random",
    },
    Layer {
        files: &["src/engine/operations", "src/engine/store", "src/engine/model"],
        // The plans of the statements are those of whole calls.
        except_files: &["src/engine/store/sqlite/plans.rs"],
        banned: &["crate::engine::handlers", "crate::engine::operator"],
        allowed: &[],
        why: "what decides and stores does not know its callers: take the value, or move the noun to engine/model",
    },
    Layer {
        files: &["src/engine/handlers"],
        except_files: &[],
        banned: &["crate::engine::operator"],
        allowed: &[],
        why: "a call knows no operator: an operation calls the handler",
    },
    Layer {
        files: &["src/engine/handlers", "src/engine/operator"],
        // The secrets of devices and the tokens of operators are no codes of users.
        except_files: &["src/engine/handlers/devices.rs", "src/engine/operator/session.rs"],
        banned: &["subtle", "crate::otp::Match"],
        allowed: &[],
        why: "only operations/verify compares a code: give it a Guess",
    },
    Layer {
        files: &["server/src/sending"],
        except_files: &[],
        banned: &["crate::edge", "crate::approver", "crate::forwarding", "crate::server"],
        allowed: &[],
        why: "what sends knows no request: the edge calls it",
    },
    Layer {
        files: &["server/src/observe"],
        except_files: &[],
        banned: &[
            "crate::edge",
            "crate::sending",
            "crate::approver",
            "crate::forwarding",
            "crate::server",
        ],
        allowed: &[],
        why: "what is observed knows its observer: have it log, count, or register its metrics",
    },
    Layer {
        files: &["server/src/edge"],
        except_files: &[],
        banned: &["crate::approver", "crate::forwarding", "crate::server"],
        allowed: &[],
        why: "the server gives the edge its source and its endpoints: implement Source or ExtraEndpoint",
    },
    Layer {
        files: &["server/src/approver", "server/src/forwarding"],
        except_files: &[],
        banned: &["crate::server"],
        allowed: &[],
        why: "the server puts its parts together, and none of them knows it",
    },
    Layer {
        files: &["server/src/admin/input", "server/src/admin/output"],
        except_files: &[],
        banned: &["crate::admin"],
        allowed: &["crate::admin::input", "crate::admin::output"],
        why: "what commands read and print knows no command",
    },
    Layer {
        files: &["server/src/admin/database"],
        except_files: &[],
        banned: &["crate::admin"],
        allowed: &["crate::admin::database", "crate::admin::input", "crate::admin::output"],
        why: "what opens a database knows no command",
    },
    Layer {
        files: &["server/src/admin/config", "server/src/admin/serve"],
        except_files: &[],
        banned: &["crate::admin"],
        allowed: &[
            "crate::admin::app::options",
            "crate::admin::config",
            "crate::admin::database",
            "crate::admin::input",
            "crate::admin::output",
            "crate::admin::serve",
        ],
        why: "the service and its configuration know no other command",
    },
    Layer {
        files: &["src/engine/store"],
        except_files: &[],
        banned: &["crate::calls", "crate::wire"],
        allowed: &[],
        why: "store/ knows no call: it takes and gives its own values",
    },
    Layer {
        files: &["src/capi", "server/", "bindings/"],
        except_files: &[],
        banned: &["rusqlite", "httparse", "socket2", "totp_rs"],
        allowed: &[],
        why: "a language interface knows only the calls: use seconder's own functions",
    },
];

/// Fields that must not show, and the types that redact themselves.
pub(crate) const SECRET_FIELDS: &[&str] =
    &["secret", "device_secret", "api_key", "token", "code", "password"];
pub(crate) const HIDDEN_TYPES: &[&str] = &["BrowserToken", "Secret", "Token", "VerificationCode"];
/// In these, `code` is the service's error code.
pub(crate) const NO_SECRET: &[(&str, &str)] = &[("Rejection", "code"), ("CallRecord", "code")];

impl Layer {
    /// A module that holds something banned is banned too: behind it, the ban could not be seen.
    pub(crate) fn forbids(&self, path: &str) -> bool {
        if !path.contains("::") {
            return false;
        }
        let path = path.strip_suffix("::*").unwrap_or(path);
        let within = |outer: &str, inner: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        self.banned.iter().any(|banned| within(banned, path) || within(path, banned))
            && !self.allowed.iter().any(|allowed| within(allowed, path))
    }
}
