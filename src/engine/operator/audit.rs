//! Operations on the audit.

use super::declaration::operation;
use crate::Result;
use crate::engine::core::Engine;
use crate::engine::handlers::audit::audit_filter;
use crate::engine::handlers::audit::{AuditFilter, AuditPage};
use crate::model::UserId;
use std::net::IpAddr;

macro_rules! list {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        operation! {
            /// Reads what the engine has decided for the application, the latest first, page by page: see
            /// [`Engine::audit`].
            #[derive(Default)]
            ListAudit = "audit.list" -> AuditPage {
                $($(#[$doc])* $field: $type,)*
                /// What the page before has as `next`.
                after: Option<String>,
                /// The most decisions on the page, 1 to 1000. Default: 100.
                most: Option<u32>,
            }
        }

        impl ListAudit {
            /// Returns the operation that reads the page of this size after the one that has this `next`.
            pub fn of(filter: &AuditFilter, after: Option<String>, most: u32) -> ListAudit {
                ListAudit { $($field: filter.$field.clone(),)* after, most: Some(most) }
            }

            fn run(&self, engine: &Engine) -> Result<AuditPage> {
                let filter = AuditFilter { $($field: self.$field.clone()),* };
                engine.audit(&filter, self.after.as_deref(), self.most.unwrap_or(super::declaration::MOST))
            }
        }
    };
}

audit_filter!(list);
