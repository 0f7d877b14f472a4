//! Shared by every function of the C interface: the wrapper that contains panics, and the
//! conversions for each kind of argument.

use super::error::seconder_error;
pub(super) use super::items::{Text, pointer};
use super::panics;
pub use super::plain::options;
pub(super) use super::plain::{
    Flag, Input, Plain, number_if, number_or_zero, sized, sized_and_rest,
};
use super::status::{SECONDER_OK, seconder_status};
use crate::wire::json;
use crate::{Error, Result};
use serde_json::{Map, Value};
use std::ffi::{CStr, c_char, c_void};
use std::net::IpAddr;
use std::ptr;
use std::slice;
use std::str::FromStr;

/// The result of the work inside the wrapper.
pub type Outcome<T> = Result<T, Box<seconder_error>>;

/// Runs a call that returns no handle. No panic leaves it, and every failure becomes an error.
///
/// # Safety
/// `error` is NULL or can be written to.
pub unsafe fn run(
    error: *mut *mut seconder_error,
    work: impl FnOnce() -> Outcome<()>,
) -> seconder_status {
    let mut work = Some(work);
    // SAFETY: promised by the caller.
    unsafe { run_any(error, &mut || work.take().map_or(Ok(()), |work| work())) }
}

/// As [`run`], but compiled once, and not for each call, so that the library stays small.
unsafe fn run_any(
    error: *mut *mut seconder_error,
    work: &mut dyn FnMut() -> Outcome<()>,
) -> seconder_status {
    // SAFETY: promised by the caller.
    unsafe { clear(error) };
    // A panic that reached the `extern "C"` function would abort the process.
    let failed = match panics::caught(work) {
        Ok(Ok(())) => return SECONDER_OK,
        Ok(Err(failed)) => failed,
        Err(panics::Panicked) => Error::Internal { message: "a panic was caught".into() }.into(),
    };
    let status = failed.status;
    if !error.is_null() {
        // SAFETY: promised by the caller.
        unsafe { error.write(Box::into_raw(failed)) };
    }
    status
}

/// Runs a call that returns a handle, for which `out` must not be NULL.
///
/// # Safety
/// `out` and `error` are NULL or can be written to.
pub(super) unsafe fn with_out<T>(
    out: *mut *mut T,
    error: *mut *mut seconder_error,
    work: impl FnOnce() -> Outcome<T>,
) -> seconder_status {
    let checked = || match out.is_null() {
        true => Err(null("out")),
        false => work(),
    };
    // SAFETY: promised by the caller.
    unsafe { with_optional_out(out, error, checked) }
}

/// Runs a call that returns a handle, for which `out` may be NULL.
///
/// # Safety
/// `out` and `error` are NULL or can be written to.
pub(super) unsafe fn with_optional_out<T>(
    out: *mut *mut T,
    error: *mut *mut seconder_error,
    work: impl FnOnce() -> Outcome<T>,
) -> seconder_status {
    // SAFETY: promised by the caller.
    unsafe {
        // Cleared first: after any failure the caller frees NULL, and never what the memory held
        // before.
        clear(out);
        run(error, || {
            let value = work()?;
            if !out.is_null() {
                out.write(Box::into_raw(Box::new(value)));
            }
            Ok(())
        })
    }
}

/// Says whether a condition holds. It does not if finding out panics.
pub(super) fn holds(work: impl FnOnce() -> bool) -> bool {
    panics::caught(work).unwrap_or(false)
}

/// Frees a handle.
pub(super) fn free<T>(handle: Option<Box<T>>) {
    let _ = panics::caught(|| drop(handle));
}

/// Reads a handle. For NULL the result is 0, `false` or NULL.
pub fn read_handle<T, R: Default>(handle: Option<&T>, see: impl FnOnce(&T) -> R) -> R {
    let Some(handle) = handle else { return R::default() };
    panics::caught(|| see(handle)).unwrap_or_default()
}

/// # Safety
/// `out` is NULL or can be written to.
unsafe fn clear<T>(out: *mut *mut T) {
    if !out.is_null() {
        // SAFETY: promised by the caller.
        unsafe { out.write(ptr::null_mut()) };
    }
}

pub(super) fn null(name: &'static str) -> Box<seconder_error> {
    Error::invalid_argument(name, "must not be NULL").into()
}

/// A handle that a call requires.
pub(super) fn need<'a, T>(name: &'static str, handle: Option<&'a T>) -> Outcome<&'a T> {
    handle.ok_or_else(|| null(name))
}

/// The text behind a pointer, if it is not NULL.
///
/// # Safety
/// `text` is NULL or NUL-terminated, and does not change during `'a`.
pub unsafe fn text_if<'a>(name: &'static str, text: *const c_char) -> Outcome<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: promised by the caller.
    let bytes = unsafe { CStr::from_ptr(text) };
    match bytes.to_str() {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(Error::invalid_argument(name, "must be UTF-8").into()),
    }
}

/// The text behind a pointer.
///
/// # Safety
/// As for [`text_if`].
pub unsafe fn text<'a>(name: &'static str, text: *const c_char) -> Outcome<&'a str> {
    // SAFETY: promised by the caller.
    unsafe { text_if(name, text) }?.ok_or_else(|| null(name))
}

/// The most values of a list of texts or pictures: more than any has use for. A count that was never
/// set is rejected before anything is read.
pub(super) const MOST_VALUES: usize = 1000;

/// Reads a list of at most `most` values. `names` are the names of the list and of its
/// count.
///
/// # Safety
/// `list` is NULL or points to `count` values, which do not change during `'a`.
pub(super) unsafe fn list<'a, T>(
    names: [&'static str; 2],
    list: *const T,
    count: usize,
    most: usize,
) -> Outcome<&'a [T]> {
    match (list.is_null(), count) {
        (_, 0) => Ok(&[]),
        (_, count) if count > most => {
            Err(Error::invalid_argument(names[1], format!("must be at most {most}")).into())
        }
        (true, _) => Err(null(names[0])),
        // SAFETY: promised by the caller.
        (false, count) => Ok(unsafe { slice::from_raw_parts(list, count) }),
    }
}

/// Reads a list of at most `most` structs.
///
/// # Safety
/// As for [`list`], and as each struct requires.
pub(super) unsafe fn inputs<T: Input>(
    names: [&'static str; 2],
    given: *const T,
    count: usize,
    most: usize,
) -> Outcome<Vec<T::Value>> {
    // SAFETY: promised by the caller.
    unsafe { list(names, given, count, most)?.iter().map(|one| one.read(names[0])).collect() }
}

/// The texts of a list.
///
/// # Safety
/// As for `list`, and each is as for [`text_if`].
pub unsafe fn texts<'a>(
    names: [&'static str; 2],
    texts: *const *const c_char,
    count: usize,
) -> Outcome<Vec<&'a str>> {
    // SAFETY: promised by the caller.
    unsafe {
        list(names, texts, count, MOST_VALUES)?.iter().map(|one| text(names[0], *one)).collect()
    }
}

/// The bytes behind a pointer, which may be NULL only if `size` is 0.
///
/// # Safety
/// `size` bytes can be read there, and do not change during `'a`.
pub(super) unsafe fn bytes<'a>(
    names: [&'static str; 2],
    given: *const c_void,
    size: usize,
) -> Outcome<&'a [u8]> {
    match (given.is_null(), size) {
        (true, 0) => Ok(&[]),
        (true, _) => Err(null(names[0])),
        // A slice must not be larger than `isize::MAX` bytes.
        (false, size) if isize::try_from(size).is_err() => {
            Err(Error::invalid_argument(names[1], "is larger than anything in memory").into())
        }
        // SAFETY: promised by the caller.
        (false, size) => Ok(unsafe { slice::from_raw_parts(given.cast(), size) }),
    }
}

/// The value that a text stands for. An error names the argument.
///
/// # Safety
/// As for [`text_if`].
pub(super) unsafe fn value<T: FromStr<Err = Error>>(
    name: &'static str,
    given: *const c_char,
) -> Outcome<T> {
    // SAFETY: promised by the caller.
    Ok(named(name, unsafe { text(name, given) }?.parse())?)
}

/// The code that a user typed. Bytes that are not UTF-8 are the user's mistake too.
///
/// # Safety
/// As for [`text_if`].
pub(super) unsafe fn typed<T: FromStr<Err = Error>>(
    name: &'static str,
    given: *const c_char,
) -> Outcome<T> {
    if given.is_null() {
        return Err(null(name));
    }
    // SAFETY: promised by the caller.
    let bytes = unsafe { CStr::from_ptr(given) };
    // An empty text is no code either.
    Ok(named(name, bytes.to_str().unwrap_or_default().parse())?)
}

/// As [`typed`], if the text is not NULL.
///
/// # Safety
/// As for [`text_if`].
pub(super) unsafe fn typed_if<T: FromStr<Err = Error>>(
    name: &'static str,
    given: *const c_char,
) -> Outcome<Option<T>> {
    // SAFETY: promised by the caller.
    (!given.is_null()).then(|| unsafe { typed(name, given) }).transpose()
}

/// The value that a text stands for, if it is not NULL.
///
/// # Safety
/// As for [`text_if`].
pub(super) unsafe fn value_if<T: FromStr<Err = Error>>(
    name: &'static str,
    given: *const c_char,
) -> Outcome<Option<T>> {
    // SAFETY: promised by the caller.
    let text = unsafe { text_if(name, given) }?;
    Ok(text.map(|text| named(name, text.parse())).transpose()?)
}

/// The value of this name among all that there are.
///
/// # Safety
/// As for [`text_if`].
pub(super) unsafe fn one_of<T: Copy>(
    name: &'static str,
    given: *const c_char,
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> Outcome<T> {
    // SAFETY: promised by the caller.
    let given = unsafe { text(name, given) }?;
    if let Some(value) = all.iter().find(|value| name_of(**value) == given) {
        return Ok(*value);
    }
    let names: Vec<&str> = all.iter().map(|value| name_of(*value)).collect();
    let names = match names.split_last() {
        Some((last, before)) => format!("{} or {last}", before.join(", ")),
        None => String::new(),
    };
    Err(Error::invalid_argument(name, format!("must be {names}")).into())
}

/// An IP address, if the text is not NULL.
///
/// # Safety
/// As for [`text_if`].
pub(super) unsafe fn address(name: &'static str, given: *const c_char) -> Outcome<Option<IpAddr>> {
    // SAFETY: promised by the caller.
    let text = unsafe { text_if(name, given) }?;
    let wrong = |_| Error::invalid_argument(name, "must be an IPv4 or IPv6 address");
    Ok(text.map(|text| text.parse().map_err(wrong)).transpose()?)
}

/// The fields of a JSON object; none if the text is NULL.
///
/// # Safety
/// As for [`text_if`].
pub(super) unsafe fn object(
    name: &'static str,
    given: *const c_char,
) -> Outcome<Map<String, Value>> {
    // SAFETY: promised by the caller.
    let text = unsafe { text_if(name, given) }?.unwrap_or("{}");
    match json::read(text.as_bytes()) {
        Ok(Value::Object(fields)) => Ok(fields),
        _ => Err(Error::invalid_argument(
            name,
            "must be a JSON object in which no name is there twice",
        )
        .into()),
    }
}

/// Replaces the name in an invalid-argument error by the one of the C argument: types such as ids do
/// not know which argument they came from.
pub fn named<T>(name: &'static str, value: Result<T>) -> Result<T> {
    value.map_err(|error| error.of_parameter(name))
}

/// Does work that needs an engine, with the handle of the service. A build without the engine leaves the work out and
/// returns an error instead, so that both builds have one header.
macro_rules! engine_only {
    ($service:expr, $work:expr) => {{
        let service = $crate::capi::ffi::need("service", $service);
        #[cfg(feature = "engine")]
        {
            service.and_then($work)
        }
        #[cfg(not(feature = "engine"))]
        {
            service.and_then(|_| $crate::capi::ffi::no_engine())
        }
    }};
}
pub(super) use engine_only;

#[cfg(not(feature = "engine"))]
pub(super) fn no_engine<T>() -> Outcome<T> {
    let reason = "is not an engine: this build of the library has no engine";
    Err(Error::invalid_argument("service", reason).into())
}

#[cfg(test)]
mod tests {
    use super::super::status::{SECONDER_INTERNAL, SECONDER_INVALID_ARGUMENT};
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_gives_no_handle() {
        let mut out = ptr::dangling_mut::<u8>();
        let mut error = ptr::null_mut();
        // SAFETY: both can be written to.
        let status = unsafe { with_optional_out(&mut out, &mut error, || panic!("on purpose")) };
        assert_eq!(status, SECONDER_INTERNAL);
        assert!(out.is_null() && !error.is_null());
        // SAFETY: the call has just returned it.
        drop(unsafe { Box::from_raw(error) });
    }

    #[test]
    fn a_required_out_argument_must_not_be_null() {
        // SAFETY: NULL is allowed.
        let status = unsafe { with_out(ptr::null_mut(), ptr::null_mut(), || Ok(1u8)) };
        assert_eq!(status, SECONDER_INVALID_ARGUMENT);
    }
}
