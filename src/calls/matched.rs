//! Finds the call of a request by its method and path.

use super::{
    CHANGES_PROTECTION, FOR_LOGIN, FOR_OWN_ACCOUNT, HandleAll, InPath, ROUTES, Route,
    WAITS_FOR_OTHERS,
};
#[cfg(feature = "engine")]
use super::{FAILURES, FailureWriter};
use crate::wire::{Format, Generation, Reply, Request};
use serde_json::{Map, Value};

/// The result of [`match_route`].
#[derive(Debug)]
pub enum RouteMatch {
    /// This call.
    Call(MatchedCall),
    /// The path belongs to a call, but the call is made with one of these methods.
    MethodNotAllowed(Vec<&'static str>),
    /// No call has the path.
    NotFound,
}

/// A call by its path, before its parameters are read.
#[derive(Debug)]
pub struct MatchedCall {
    /// Its index in [`ROUTES`].
    pub(super) index: usize,
    pub(super) in_path: InPath,
}

/// Finds the call with this method and path. The path is in the interface document's own names.
pub fn match_route(method: &str, path: &str) -> RouteMatch {
    let mut allowed = Vec::new();
    for (index, route) in ROUTES.iter().enumerate() {
        match route.read(path) {
            Some(in_path) if route.method == method => {
                return RouteMatch::Call(MatchedCall { index, in_path });
            }
            Some(_) if !allowed.contains(&route.method) => allowed.push(route.method),
            _ => {}
        }
    }
    match allowed.is_empty() {
        true => RouteMatch::NotFound,
        false => RouteMatch::MethodNotAllowed(allowed),
    }
}

impl MatchedCall {
    /// The call's route.
    pub fn route(&self) -> &'static Route {
        ROUTES[self.index]
    }

    /// The format that the path asks for.
    pub fn format(&self) -> Format {
        self.in_path.format
    }

    /// The fields in the path.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.in_path.fields
    }

    /// [`Call::FOR_LOGIN`](super::Call::FOR_LOGIN) of the call.
    pub fn for_login(&self) -> bool {
        FOR_LOGIN[self.index]
    }

    /// [`Call::FOR_OWN_ACCOUNT`](super::Call::FOR_OWN_ACCOUNT) of the call.
    pub fn for_own_account(&self) -> bool {
        FOR_OWN_ACCOUNT[self.index]
    }

    /// [`Call::CHANGES_PROTECTION`](super::Call::CHANGES_PROTECTION) of the call.
    pub fn changes_protection(&self) -> bool {
        CHANGES_PROTECTION[self.index]
    }

    /// [`Call::WAITS_FOR_OTHERS`](super::Call::WAITS_FOR_OTHERS) of the call.
    pub fn waits_for_others(&self) -> bool {
        WAITS_FOR_OTHERS[self.index]
    }

    /// Writes the call's reply to an error that precedes it, such as a wrong API key.
    #[cfg(feature = "engine")]
    pub(crate) fn failure_writer(&self) -> FailureWriter {
        FAILURES[self.index]
    }

    /// Reads the parameters, checks them and lets the service handle the call. The reply is of the
    /// generation `replies`, for every path (interface 9).
    pub fn handle(
        self,
        service: &impl HandleAll,
        params: Map<String, Value>,
        replies: Generation,
    ) -> Reply {
        service.handle_matched(self, params, replies)
    }
}

/// Handles a request, and returns a reply of the generation `replies` with the format that the path
/// asks for; `None` when no call has its method and path.
pub fn dispatch(
    service: &impl HandleAll,
    request: Request,
    replies: Generation,
) -> Option<(Format, Reply)> {
    let RouteMatch::Call(call) = match_route(request.method, &request.path) else { return None };
    let format = call.format();
    Some((format, call.handle(service, request.params, replies)))
}
