//! Parameters of PostgreSQL's own clients that URLs from providers and tools have. A value is accepted
//! if connections are as it asks anyway.

use super::bad;
use crate::Result;

/// The parameters, the values that are accepted, and what to do in place of any other.
const KNOWN: &[(&str, &[&str], &str)] = &[
    (
        "target_session_attrs",
        &["any", "primary", "read-write"],
        "the engine writes, so a server that only reads is always passed over",
    ),
    ("load_balance_hosts", &["disable"], "hosts are tried in order, so name the nearest first"),
    ("gssencmode", &["disable", "prefer"], "GSSAPI is not supported, so use sslmode=verify-full"),
    ("sslnegotiation", &["postgres"], "TLS begins as every version of PostgreSQL expects it"),
    ("sslcompression", &["0"], "TLS is not compressed"),
    ("sslsni", &["1"], "the name of the host is always sent"),
    ("client_encoding", &["UTF8", "utf8", "UTF-8", "utf-8", "auto"], "texts are UTF-8"),
    ("keepalives", &["1"], "lost connections are always looked for"),
];

/// Limits of the time until a lost connection is noticed. Every call notices it by its own deadline, so these are not
/// set.
const LIMITS: &[&str] =
    &["keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"];

/// Checks a parameter that nothing else has read.
pub(super) fn check(name: &str, value: &str) -> Result<()> {
    if let Some((_, accepted, instead)) = KNOWN.iter().find(|(known, ..)| *known == name) {
        return match accepted.contains(&value) {
            true => Ok(()),
            false => Err(bad(format!("must have {name}={}: {instead}", accepted.join(" or ")))),
        };
    }
    if LIMITS.contains(&name) {
        return match value.parse::<u32>() {
            Ok(_) => Ok(()),
            Err(_) => Err(bad(format!("has an invalid {name}: it must be a number"))),
        };
    }
    let known: Vec<&str> = KNOWN.iter().map(|(known, ..)| *known).collect();
    Err(bad(format!(
        "has the parameter {name}, which is unknown: those known are host, hostaddr, port, user, \
         password, dbname, passfile, sslmode, sslrootcert, sslcert, sslkey, channel_binding, \
         connect_timeout, application_name, options, {} and {}",
        LIMITS.join(", "),
        known.join(", ")
    )))
}
