//! The versions of HTTP that a server speaks, and the limits of a connection's memory for each.

use axum_server::{Address, Server};
use hyper_util::rt::TokioTimer;
use std::time::Duration;

/// The time that a client of HTTP/1 may take to send the head of a request. It also limits how long such a connection
/// may be idle; for HTTP/2, `time_limits` does.
pub(crate) const HEAD: Duration = Duration::from_secs(30);
/// The bytes of a request of HTTP/1 that are read at a time. It also limits the size of its head. Each of many
/// connections may have one.
pub(crate) const BUFFER: usize = 64 * 1024;
/// The largest head of a request of HTTP/2, in bytes, when it is no longer compressed. Few bytes stand for many, so a
/// stranger who sends little could have much kept.
pub(crate) const HEADERS: u32 = 8 * 1024;
/// The most concurrent requests of a connection.
pub(crate) const STREAMS: u32 = 32;
/// The bytes that a client may send before they are read: of one request, and of all of a connection.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 256 * 1024;
/// The bytes of a response that wait until its client takes them.
const SEND_BUFFER: usize = 64 * 1024;

/// Limits a server to HTTP/1.
pub(crate) fn http1<A: Address, Acceptor>(server: Server<A, Acceptor>) -> Server<A, Acceptor> {
    limited(server).http1_only()
}

/// Lets a server accept HTTP/1 and HTTP/2. A connection is to be limited in time until its version is known.
pub(crate) fn http1_and_2<A: Address, Acceptor>(
    server: Server<A, Acceptor>,
) -> Server<A, Acceptor> {
    let mut server = limited(server);
    // The number of requests that a client may take back is limited by default.
    server
        .http_builder()
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEADERS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER);
    server
}

fn limited<A: Address, Acceptor>(mut server: Server<A, Acceptor>) -> Server<A, Acceptor> {
    server
        .http_builder()
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(BUFFER);
    server
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_those_that_are_documented() {
        let documented = format!(
            "{STREAMS} requests of a connection at once; heads of {} KiB at most; {} KiB of a request, \
             and {} KiB of a connection, before they are read",
            HEADERS / 1024,
            STREAM_WINDOW / 1024,
            CONNECTION_WINDOW / 1024
        );
        assert!(include_str!("../../../docs/attacks.md").contains(&documented), "{documented}");
    }
}
