//! Look-ups of an engine, by the program's function.

use crate::capi::lookup::{Said, seconder_lookup, seconder_phone_line};
use crate::capi::status::*;
use crate::capi::userdata::ByFunction;
use crate::engine::{LineType, NumberLookup, PhoneLine};

impl NumberLookup for ByFunction<seconder_lookup> {
    fn look_up(&self, number: &str) -> Option<PhoneLine> {
        let number = std::ffi::CString::new(number).ok()?;
        let line = seconder_phone_line::default();
        // SAFETY: the arguments live until the function returns, and the userdata as long as `self`.
        let returned = unsafe { self.function?(number.as_ptr(), &line, self.userdata.as_ptr()) };
        (returned == 0).then(|| line.said().facts())
    }
}

impl Said {
    fn facts(&mut self) -> PhoneLine {
        PhoneLine {
            carrier: self.carrier.take(),
            kind: match self.kind {
                SECONDER_LINE_TYPE_MOBILE => Some(LineType::Mobile),
                SECONDER_LINE_TYPE_LANDLINE => Some(LineType::Landline),
                SECONDER_LINE_TYPE_VOIP => Some(LineType::Voip),
                SECONDER_LINE_TYPE_DISPOSABLE => Some(LineType::Disposable),
                _ => None,
            },
            ported: match self.ported {
                SECONDER_YES => Some(true),
                SECONDER_NO => Some(false),
                _ => None,
            },
        }
    }
}
