//! What the engine has decided.

use super::operation;
use crate::Result;
use crate::engine::{AuditFilter, AuditPage, Engine};
use crate::model::UserId;
use std::net::IpAddr;

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
        /// Those of this call, such as `verify`.
        call: Option<String>,
        /// Those of calls that had this address of the user.
        user_ip: Option<IpAddr>,
        /// Those that the operator of this name made.
        operator_name: Option<String>,
        /// What the page before has as `next`.
        after: Option<String>,
        /// The most decisions on the page, 1 to 1000. Default: 100.
        most: Option<u32>,
    }
}

impl ListAudit {
    fn run(&self, engine: &Engine) -> Result<AuditPage> {
        let ListAudit { user_id, since, until, verdict, call, user_ip, operator_name, .. } =
            self.clone();
        let filter = AuditFilter { user_id, since, until, verdict, call, user_ip, operator_name };
        engine.audit(&filter, self.after.as_deref(), self.most.unwrap_or(super::MOST))
    }
}
