//! The author of a decision, for the audit.

use super::{Engine, EngineSettings};
use std::sync::Arc;

/// The names by which a decision is found: of who makes it, and of the request.
#[derive(Clone, Default)]
pub(in crate::engine) struct Author {
    /// The operator whose token was right, or the user of the machine who runs a command; `None` for the application.
    pub(in crate::engine) operator: Option<Arc<str>>,
    /// The id of the request, if one makes the decision.
    pub(in crate::engine) request_id: Option<Arc<str>>,
}

impl Author {
    /// Returns the author of all that an engine with these settings decides.
    pub(super) fn of(settings: &EngineSettings) -> Author {
        Author { operator: settings.operator.clone(), request_id: None }
    }
}

impl Engine {
    /// Returns the same engine, for a request with this id, which is in the audit.
    #[doc(hidden)]
    pub fn for_request(&self, id: Option<&str>) -> Engine {
        let author = Author { request_id: id.map(Arc::from), ..self.author.clone() };
        Engine { author, ..self.clone() }
    }

    /// Returns the id of its application.
    pub(crate) fn app_id(&self) -> i64 {
        self.app.app_id
    }
}
