//! Checks that the limits in docs/operations.md agree with the code.

use crate::edge::wrong_tries::NETWORKS;
use crate::edge::{bodies, network, protocols, reading, wrong_tries};
use crate::observe::journal;
use crate::server;
use seconder::http::{BODY_LIMIT, UNKNOWN_BODY_LIMIT};

#[test]
fn the_manual_states_the_limits_of_connections_and_requests() {
    let manual = include_str!("../../docs/operations.md");
    let kib = |bytes: usize| format!("{} KiB", bytes / 1024);
    let headers = usize::try_from(protocols::HEADERS).unwrap();
    let share = bodies::SHARE / 1024 / 1024;
    let (body, unknown) = (BODY_LIMIT / 1024 / 1024, kib(UNKNOWN_BODY_LIMIT));
    for (what, limit) in [
        (
            "connections",
            format!(
                "{}, or fewer if the process may open fewer files; one address has at most as many as are left",
                network::MOST
            ),
        ),
        ("the TLS handshake", format!("{} s", network::HANDSHAKE.as_secs())),
        (
            "the head of a request",
            format!(
                "{} in {} s; {} with HTTP/2",
                kib(protocols::BUFFER),
                protocols::HEAD.as_secs(),
                kib(headers)
            ),
        ),
        (
            "its body",
            format!(
                "{body} MiB in {} s; without an API key in a header or the query, {unknown}",
                reading::BODY_TIME.as_secs()
            ),
        ),
        (
            "bodies of clients that may be strangers, kept at once",
            format!(
                "{} MiB of calls, and as much of phones and of receipts; {share} MiB of one address, {} of \
                 an IPv6 /{}, and {} of a /{}; further ones get 503 and `Retry-After`, unless they have a right \
                 API key in a header or the query",
                bodies::ALL / 1024 / 1024,
                share * NETWORKS[0].1 as usize,
                NETWORKS[0].0,
                share * NETWORKS[1].1 as usize,
                NETWORKS[1].0,
            ),
        ),
        ("a connection without a call", format!("{} s", network::NO_CALL.as_secs())),
        ("requests of a connection at once", format!("{} with HTTP/2", protocols::STREAMS)),
        ("a response that the client does not take", format!("{} s", server::WRITE.as_secs())),
        (
            "API keys that no application has",
            format!(
                "{} from one address at once, then one every {} s; requests with others get 503 and \
                 `Retry-After`",
                wrong_tries::KEYS,
                wrong_tries::EACH_KEY.as_secs()
            ),
        ),
        (
            "lines of the log about requests that anybody can make",
            format!(
                "{} of one address or local user, and {} in all, in {} s, and {} of those that failed in the \
                 service; a line says how many are missing",
                journal::STRANGER,
                journal::STRANGERS,
                journal::TIME.as_secs(),
                journal::FAILURES
            ),
        ),
    ] {
        let row = format!("| {what} | {limit} |\n");
        assert!(manual.contains(&row), "{row}");
    }
}
