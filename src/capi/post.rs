//! Callbacks of an engine, handed to a function of the C program that posts them.

use super::ffi::{Text, read_handle};
use super::userdata::Userdata;
use std::ffi::{c_char, c_void};
use std::ptr;

/// A callback on its way to the application (interface 6). It lives until the function that it was
/// given to returns.
pub struct seconder_signed_callback {
    url: Text,
    body: Vec<u8>,
    headers: [(Text, Text); 2],
}

/// Posts a callback to the application. 0 says that the application took it; any other number, that
/// it did not.
///
/// It runs inside the call that answers an approval request, on the thread of that call, and for
/// many threads at once when many call. It must return: no longjmp() and no C++ exception may leave
/// it.
pub type seconder_post = Option<
    unsafe extern "C" fn(
        callback: *const seconder_signed_callback,
        post_userdata: *mut c_void,
    ) -> i32,
>;

/// A post function with what belongs to it.
pub(super) struct ByFunction {
    post: seconder_post,
    #[cfg_attr(not(feature = "engine"), expect(dead_code, reason = "it only has to go"))]
    userdata: Userdata,
}

impl ByFunction {
    pub(super) fn new(post: seconder_post, userdata: Userdata) -> ByFunction {
        ByFunction { post, userdata }
    }

    /// The same, unless there is no function.
    pub(super) fn given(self) -> Option<ByFunction> {
        self.post.is_some().then_some(self)
    }
}

#[cfg(feature = "engine")]
impl crate::engine::Post for ByFunction {
    fn post(&self, callback: &crate::engine::SignedCallback) -> Result<(), String> {
        let Some(post) = self.post else { return Err("there is no function".into()) };
        let header = |(name, value): &(String, String)| (Text::new(name), Text::new(value));
        let callback = seconder_signed_callback {
            url: Text::new(callback.url.as_str()),
            body: callback.body.clone(),
            headers: callback.headers.each_ref().map(header),
        };
        // SAFETY: the callback lives until the function returns, and the data until this goes.
        match unsafe { post(&callback, self.userdata.as_ptr()) } {
            0 => Ok(()),
            other => Err(format!("the post function returned {other}")),
        }
    }
}

/// Where the callback goes. NULL for NULL alone.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_signed_callback_url(
    callback: Option<&seconder_signed_callback>,
) -> *const c_char {
    read_handle(callback, |callback| callback.url.as_ptr())
}

/// The JSON body, which does not end with a NUL. It belongs to the callback. NULL for NULL alone.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_signed_callback_body(
    callback: Option<&seconder_signed_callback>,
) -> *const c_void {
    read_handle(callback, |callback| callback.body.as_ptr().cast())
}

/// How many bytes the body has.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_signed_callback_body_size(
    callback: Option<&seconder_signed_callback>,
) -> usize {
    read_handle(callback, |callback| callback.body.len())
}

/// How many headers carry the signature and its nonce (interface 5.5).
#[unsafe(no_mangle)]
pub extern "C" fn seconder_signed_callback_header_count(
    callback: Option<&seconder_signed_callback>,
) -> usize {
    read_handle(callback, |callback| callback.headers.len())
}

/// The name of the header at `index`; NULL beyond the last.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_signed_callback_header_name(
    callback: Option<&seconder_signed_callback>,
    index: usize,
) -> *const c_char {
    read_handle(callback, |callback| {
        callback.headers.get(index).map_or(ptr::null(), |(n, _)| n.as_ptr())
    })
}

/// The value of the header at `index`; NULL beyond the last.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_signed_callback_header_value(
    callback: Option<&seconder_signed_callback>,
    index: usize,
) -> *const c_char {
    read_handle(callback, |callback| {
        callback.headers.get(index).map_or(ptr::null(), |(_, v)| v.as_ptr())
    })
}
