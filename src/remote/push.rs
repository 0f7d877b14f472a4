//! Posts messages to push services (RFC 8030, section 5).

use super::deadline::Deadline;
use super::dialer::Dialer;
use super::outside::{Outside, Responded, To};
use super::raw_request::RawRequest;
use super::reach::Reach;
use super::reply;
use crate::engine::{PushHosts, PushMessage, PushOutcome, SendPush};
use crate::{Error, Result};
use std::time::Duration;

/// The time within which a push service must respond.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The time within which the rest of a response must arrive after its head.
const REST: Duration = Duration::from_secs(1);
/// The maximum length of a push service's message that is kept, in characters.
const LONGEST: usize = 500;

/// Posts messages to the push services of browser vendors, and to the ones in a list. A message
/// that arrives twice, because a kept connection ended, replaces itself by its topic.
pub(crate) struct Pushes {
    outside: Outside,
    hosts: PushHosts,
}

impl Pushes {
    pub(crate) fn new(hosts: PushHosts, dialer: Dialer) -> Pushes {
        Pushes { outside: Outside::new(dialer), hosts }
    }

    fn post(&self, message: &PushMessage) -> Result<Responded> {
        let deadline = Deadline::after(TIMEOUT)?;
        let mut to = To::url(&message.endpoint)?;
        if self.hosts.is_here(to.host.as_str()) {
            to.reach = Reach::ThisMachine;
        }
        let mut request = RawRequest::new("POST", to.host.as_str(), &to.target)?
            .header("ttl", &message.ttl.as_secs().to_string())?
            // Otherwise phones in light sleep get it minutes later.
            .header("urgency", "high")?
            .header("content-encoding", "aes128gcm")?
            .header("authorization", &message.authorization)?;
        if let Some(topic) = &message.topic {
            request = request.header("topic", topic)?;
        }
        let request = request.end(Some(("application/octet-stream", &message.body)))?;
        self.outside.send(&to, &request, deadline, REST)
    }
}

impl SendPush for Pushes {
    fn send(&self, message: &PushMessage) -> PushOutcome {
        // The list may have changed since the device subscribed.
        if let Err(error) = self.hosts.check(&message.endpoint) {
            return PushOutcome::Rejected(error.to_string());
        }
        match self.post(message) {
            Ok(responded) => outcome(responded, &message.endpoint),
            Err(error) => {
                // A message that cannot be sent now cannot be sent later either.
                let is_final =
                    matches!(error, Error::InvalidArgument { .. } | Error::Internal { .. });
                let reason = match error {
                    Error::Unavailable { message, .. } => message,
                    other => other.to_string(),
                };
                match is_final {
                    true => PushOutcome::Rejected(reason),
                    false => PushOutcome::Retry { after: None, reason },
                }
            }
        }
    }

    fn housekeep(&self) {
        self.outside.close_old();
    }
}

fn outcome(Responded { head, body }: Responded, endpoint: &str) -> PushOutcome {
    let status = head.status;
    match status {
        200..=299 => PushOutcome::Accepted,
        404 | 410 => PushOutcome::Gone,
        429 | 500..=599 => PushOutcome::Retry {
            after: reply::wait_of(&head.headers),
            reason: format!("the push service responds with status {status}"),
        },
        _ => {
            let host = endpoint.split('/').nth(2).unwrap_or_default();
            let said = String::from_utf8_lossy(&body.unwrap_or_default()).into_owned();
            let said: String =
                said.chars().filter(|letter| !letter.is_control()).take(LONGEST).collect();
            PushOutcome::Rejected(format!("{host} responds with status {status}: {said}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::loopback::{Loopback, ok, reply};
    use super::*;

    fn send(server: &Loopback, path: &str) -> PushOutcome {
        let endpoint = server.url(path);
        let host = endpoint.split('/').nth(2).unwrap().to_owned();
        let pushes = Pushes::new(host.parse().unwrap(), Dialer::default());
        pushes.send(&PushMessage {
            endpoint,
            authorization: "vapid t=a.b.c, k=d".to_owned(),
            ttl: Duration::from_secs(90),
            topic: Some("topic".to_owned()),
            body: b"encrypted".to_vec(),
        })
    }

    #[test]
    fn a_message_is_posted_as_rfc_8030_says() {
        let server = Loopback::start(|_| reply(201, "", ""));
        assert_eq!(send(&server, "/push/1?a=b"), PushOutcome::Accepted);
        let request = server.request();
        assert!(request.starts_with("POST /push/1?a=b HTTP/1.1\r\n"), "{request}");
        for line in [
            "ttl: 90",
            "urgency: high",
            "topic: topic",
            "content-encoding: aes128gcm",
            "authorization: vapid t=a.b.c, k=d",
            "content-length: 9",
        ] {
            assert!(request.contains(&format!("\r\n{line}\r\n")), "{line}: {request}");
        }
        assert!(request.ends_with("\r\n\r\nencrypted"), "{request}");
    }

    #[test]
    fn the_status_says_what_becomes_of_a_message() {
        for status in [404, 410] {
            let server = Loopback::start(move |_| reply(status, "", ""));
            assert_eq!(send(&server, "/"), PushOutcome::Gone);
        }
        for (status, wait) in [(429, Some(7)), (503, Some(7)), (500, None)] {
            let header = if wait.is_some() { "Retry-After: 7\r\n" } else { "" };
            let server = Loopback::start(move |_| reply(status, header, ""));
            let outcome = send(&server, "/");
            let after = wait.map(Duration::from_secs);
            assert!(
                matches!(&outcome, PushOutcome::Retry { after: a, .. } if *a == after),
                "{outcome:?}"
            );
        }
        for status in [400, 403, 413] {
            let server =
                Loopback::start(move |_| reply(status, "", "{\"reason\":\n\"BadJwtToken\"}"));
            let outcome = send(&server, "/");
            let PushOutcome::Rejected(reason) = &outcome else { panic!("{outcome:?}") };
            assert!(
                reason.ends_with(&format!("status {status}: {{\"reason\":\"BadJwtToken\"}}")),
                "{reason}"
            );
        }
    }

    #[test]
    fn what_cannot_be_sent_is_not_tried_again_and_a_service_that_is_away_is() {
        let pushes = |host: &str| Pushes::new(host.parse().unwrap(), Dialer::default());
        let message = |endpoint: &str, authorization: &str| PushMessage {
            endpoint: endpoint.to_owned(),
            authorization: authorization.to_owned(),
            ttl: Duration::ZERO,
            topic: None,
            body: Vec::new(),
        };
        let here = "127.0.0.1:9";
        let endpoint = format!("http://{here}/");
        let split = pushes(here).send(&message(&endpoint, "vapid\r\nhost: other"));
        assert!(matches!(split, PushOutcome::Rejected(_)), "{split:?}");
        let away = pushes(here).send(&message(&endpoint, "vapid"));
        assert!(matches!(away, PushOutcome::Retry { .. }), "{away:?}");
    }

    #[test]
    fn a_redirect_is_not_followed() {
        let other = Loopback::start(|_| ok(""));
        let location = format!("Location: {}\r\n", other.url("/inside"));
        let server = Loopback::start(move |_| reply(307, &location, ""));
        assert!(matches!(send(&server, "/"), PushOutcome::Rejected(_)));
        assert!(other.is_untouched());
    }

    #[test]
    fn nothing_is_posted_inwards_or_to_hosts_that_are_not_listed() {
        let server = Loopback::start(|_| ok(""));
        let port = server.url("").rsplit(':').next().unwrap().to_owned();
        let listed = "localhost.example *.internal.example".parse().unwrap();
        let pushes = Pushes::new(listed, Dialer::default());
        for endpoint in [
            server.url("/"),
            format!("https://127.0.0.1:{port}/"),
            format!("https://localhost:{port}/"),
            "https://169.254.169.254/latest".to_owned(),
            "https://user@fcm.googleapis.com/".to_owned(),
        ] {
            let message = PushMessage {
                endpoint,
                authorization: String::new(),
                ttl: Duration::ZERO,
                topic: None,
                body: Vec::new(),
            };
            assert!(matches!(pushes.send(&message), PushOutcome::Rejected(_)));
        }
        assert!(server.is_untouched());
    }
}
