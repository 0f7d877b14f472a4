//! What an engine is given when it is opened.

use super::clock::System;
use super::{Clock, Deliver, Post, Random};
use crate::model::Secret;
use crate::wire::Names;
use std::sync::Arc;

#[derive(Clone)]
pub(crate) struct EngineSettings {
    pub(crate) api_key: Option<Secret>,
    pub(crate) application_name: Option<String>,
    pub(crate) callback_url: Option<String>,
    pub(crate) deliver: Option<Arc<dyn Deliver>>,
    pub(crate) post: Option<Arc<dyn Post>>,
    pub(crate) names: Names,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
}

impl Default for EngineSettings {
    fn default() -> EngineSettings {
        EngineSettings {
            api_key: None,
            application_name: None,
            callback_url: None,
            deliver: None,
            post: None,
            names: Names::default(),
            clock: Arc::new(System),
            random: Arc::new(System),
        }
    }
}
