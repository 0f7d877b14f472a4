//! Requests to hosts that third parties chose: receivers of callbacks, push services, and hosts of pictures.
//! Connections are kept for the next request to the same host.

mod hosts;

use super::connect::Connection;
use super::deadline::Deadline;
use super::dialer::Dialer;
use super::error_mapping::{Fault, without_client_settings};
use super::http1::Head;
use super::process::PerProcess;
use super::raw_request::{RawRequest, unsendable};
use super::reach::Reach;
use crate::{Result, Stage};
use hosts::Hosts;
use http::Uri;
use http::uri::{Authority, PathAndQuery};
use std::path::Path;
use std::time::Duration;

/// Sends requests to such hosts.
pub(super) struct Outside {
    hosts: PerProcess<Hosts>,
    dialer: Dialer,
}

/// The destination of a request, and the authorities that it trusts.
pub(super) struct To<'a> {
    pub(super) https: bool,
    pub(super) host: Authority,
    /// The path and the query.
    pub(super) target: String,
    pub(super) reach: Reach,
    /// The authorities that are trusted instead of the system's.
    pub(super) ca_file: Option<&'a Path>,
}

impl To<'_> {
    /// Returns the destination of a URL, at addresses of the public Internet.
    pub(super) fn url(url: &str) -> Result<To<'static>> {
        let uri: Uri = url.parse().map_err(|_| unsendable())?;
        let host = uri.authority().cloned().ok_or_else(unsendable)?;
        let target = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        // A URL may have no path, and then a query follows the host.
        let target = match target.starts_with('?') {
            true => format!("/{target}"),
            false => target.to_owned(),
        };
        let https = uri.scheme_str() == Some("https");
        Ok(To { https, host, target, reach: Reach::Public, ca_file: None })
    }
}

/// A response.
pub(super) struct Responded {
    pub(super) head: Head,
    /// The body; `None` if it did not arrive in time, or is too large.
    pub(super) body: Option<Vec<u8>>,
}

impl Outside {
    pub(super) fn new(dialer: Dialer) -> Outside {
        Outside { hosts: PerProcess::new(Hosts::default()), dialer }
    }

    fn hosts(&self) -> &Hosts {
        self.hosts.get(Hosts::default)
    }

    /// Closes the connections that were idle for too long.
    pub(super) fn close_old(&self) {
        self.hosts().close_old();
    }

    /// Acts as if this time had passed. Returns the number of idle connections.
    #[cfg(test)]
    pub(super) fn age(&self, by: Duration) -> usize {
        self.hosts().age(by)
    }

    /// Sends a request. The rest of the response, after its head, may take so long.
    pub(super) fn send(
        &self,
        to: &To<'_>,
        request: &RawRequest,
        deadline: Deadline,
        rest: Duration,
    ) -> Result<Responded> {
        self.close_old();
        let connections = self.hosts().find(to, &self.dialer)?;
        let process = connections.process();
        let failed =
            |fault: Fault| without_client_settings(fault.at(Stage::Response, to.host.as_str()));
        let fresh = || connections.connect(process, deadline).map_err(without_client_settings);
        let (mut connection, is_kept) = match connections.kept(process, deadline) {
            Some(kept) => (kept, true),
            None => (fresh()?, false),
        };
        let mut head = exchange(&mut connection, request);
        // Servers close connections that are idle for too long, which may cross the request. The request may have
        // arrived nevertheless, so it must be one that the receiver recognises, or that may arrive twice.
        if is_kept && head.as_ref().is_err_and(Fault::is_closed) {
            connection = fresh()?;
            head = exchange(&mut connection, request);
        }
        let head = head.map_err(failed)?;
        // The next request does not go to the target of a redirect, so the rest is not read.
        if head.is_redirect() {
            return Ok(Responded { head, body: None });
        }
        connection.stream().socket().set_deadline(deadline.sooner(rest));
        let body = connection.body(&head).ok();
        if body.is_some() && head.stays_open() {
            connections.keep(process, connection);
        }
        Ok(Responded { head, body })
    }
}

fn exchange(connection: &mut Connection, request: &RawRequest) -> Result<Head, Fault> {
    connection.send(request.bytes())?;
    connection.head()
}
