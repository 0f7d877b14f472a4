//! The functions that need neither network nor database, called as C calls them. Miri, which cannot
//! run foreign code, can run these: `make miri`.

use super::callback::*;
use super::checks::*;
use super::error::*;
use super::generated::callback::*;
use super::generated::error::*;
use super::generated::text::*;
use super::generated::totp::*;
use super::status::*;
use super::totp::*;
use std::ffi::{CStr, c_char};
use std::{mem, ptr};

const KEY: &CStr = c"key";
const URL: &CStr = c"https://app.example/callback";
const NONCE: &CStr = c"1700000000.5";
const BODY: &[u8] = br#"{"uuid":"3f05a350","status":"approved","svc_id":7}"#;

fn read<'a>(text: *const c_char) -> &'a CStr {
    assert!(!text.is_null());
    // SAFETY: the library returned it, and the test frees nothing that it still reads.
    unsafe { CStr::from_ptr(text) }
}

/// A handle that was returned, as the free functions take it.
fn owned<T>(handle: *mut T) -> Option<Box<T>> {
    // SAFETY: the library returned it, once.
    (!handle.is_null()).then(|| unsafe { Box::from_raw(handle) })
}

/// Expects a call to reject an argument, and to name it.
fn rejects(parameter: &CStr, call: impl FnOnce(*mut *mut seconder_error) -> seconder_status) {
    let mut error = ptr::null_mut();
    assert_eq!(call(&mut error), SECONDER_INVALID_ARGUMENT);
    // SAFETY: the call has just returned it.
    let returned = unsafe { error.as_ref() };
    assert_eq!(read(seconder_error_parameter(returned)), parameter);
    assert!(!read(seconder_error_message(returned)).is_empty());
    assert_eq!(seconder_error_field_count(returned), 1);
    assert!(seconder_error_field_text(returned, 1).is_null());
    seconder_error_free(owned(error));
}

#[test]
fn texts_are_checked_for_their_form() {
    // SAFETY: texts or NULL.
    unsafe {
        for typed in [c"../sms", c"\xff", c""] {
            assert!(!seconder_is_well_formed_token(typed.as_ptr()));
        }
        assert!(!seconder_is_well_formed_uuid(ptr::null()));
        assert!(seconder_is_well_formed_token(c"123456".as_ptr()));
    }
}

#[test]
fn a_signed_callback_is_accepted() {
    let (mut signature, mut event) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: texts, a body of the stated size, and out arguments that can be written to.
    unsafe {
        let (body, size) = (BODY.as_ptr().cast(), BODY.len());
        let (key, nonce, url) = (KEY.as_ptr(), NONCE.as_ptr(), URL.as_ptr());
        let none = ptr::null_mut();
        let status = seconder_callback_sign(key, nonce, url, body, size, &mut signature, none);
        assert_eq!(status, SECONDER_OK);
        let mut received = mem::zeroed::<seconder_callback>();
        received.url = url;
        received.method = c"POST".as_ptr();
        (received.body, received.body_size) = (body, size);
        received.signature = seconder_text_value(signature.as_ref());
        received.nonce = nonce;
        let size = size_of::<seconder_callback>();
        let status = seconder_callback_verify(key, &received, size, &mut event, none);
        assert_eq!(status, SECONDER_OK);
        assert!(seconder_event_approved_by(event.as_ref(), 7));
        assert_eq!(read(seconder_event_uuid(event.as_ref())), c"3f05a350");
        seconder_event_free(owned(event));

        let status = seconder_callback_verify(URL.as_ptr(), &received, size, &mut event, none);
        assert_eq!((status, event.is_null()), (SECONDER_INVALID_CALLBACK, true));
        rejects(c"received_size", |error| {
            seconder_callback_verify(key, &received, size - 1, &mut event, error)
        });
    }
    seconder_text_free(owned(signature));
}

#[test]
fn an_authenticator_code_is_accepted_once() {
    let (mut totp, mut code, mut last) = (ptr::null_mut(), ptr::null_mut(), 0);
    let none = ptr::null_mut();
    // SAFETY: a secret of the stated size, and out arguments that can be written to.
    unsafe {
        let secret = c"12345678901234567890";
        let status = seconder_totp_new(secret.as_ptr().cast(), 20, ptr::null(), 0, &mut totp, none);
        assert_eq!(status, SECONDER_OK);
        assert_eq!(seconder_totp_code(totp.as_ref(), 1_111_111_109, &mut code, none), SECONDER_OK);
        let text = seconder_text_value(code.as_ref());
        assert_eq!(read(text), c"081804");
        let mut check = || seconder_totp_check(totp.as_ref(), text, 1_111_111_109, &mut last, none);
        assert_eq!((check(), check()), (SECONDER_OK, SECONDER_TOKEN_REUSED));
    }
    seconder_text_free(owned(code));
    seconder_totp_free(owned(totp));
}
