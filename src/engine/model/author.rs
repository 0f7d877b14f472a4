//! The author of a decision, for the audit.

use std::sync::Arc;

/// The names by which a decision is found: of who makes it, and of the request.
#[derive(Clone, Default)]
pub(in crate::engine) struct Author {
    /// The operator whose token was right, or the user of the machine who runs a command; `None` for the application.
    pub(in crate::engine) operator: Option<Arc<str>>,
    /// The id of the request, if one makes the decision.
    pub(in crate::engine) request_id: Option<Arc<str>>,
}
