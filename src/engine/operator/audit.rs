//! What the engine has decided.

use super::operation;
use crate::Result;
use crate::engine::{AuditFilter, AuditPage, Engine};
use crate::model::UserId;

operation! {
    /// Reads what the engine has decided for the application, the latest first, page by page: see
    /// [`Engine::audit`].
    #[derive(Default)]
    ListAudit = "audit.list" -> AuditPage {
        /// Those about this user.
        user_id: Option<UserId>,
        /// Those from this time on, in Unix seconds.
        since: Option<u64>,
        /// Those before this time, in Unix seconds.
        until: Option<u64>,
        /// Those with this verdict, such as `wrong`.
        verdict: Option<String>,
        /// What the page before has as `next`.
        after: Option<String>,
        /// The most decisions on the page, 1 to 1000. Default: 100.
        most: Option<u32>,
    }
}

impl ListAudit {
    fn run(&self, engine: &Engine) -> Result<AuditPage> {
        let ListAudit { user_id, since, until, verdict, after, most } = self.clone();
        let filter = AuditFilter { user_id, since, until, verdict };
        engine.audit(&filter, after.as_deref(), most.unwrap_or(super::MOST))
    }
}
