//! The API key of an engine's application.

use crate::capi::ffi::{self, Text};
use crate::capi::open::seconder_service;
use std::ffi::c_char;

pub(crate) fn own_key(service: &seconder_service) -> ffi::Outcome<*const c_char> {
    let engine = service.service.require_engine()?;
    let key = engine.api_key();
    let mut keys = service.api_keys.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match keys.last() {
        Some((known, text)) if *known == key => Ok(text.as_ptr()),
        _ => {
            let text = Text::new(key.expose());
            let pointer = text.as_ptr();
            keys.push((key, text));
            Ok(pointer)
        }
    }
}
