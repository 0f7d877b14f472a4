//! Callbacks that are accepted once, while they are fresh, at the URLs they are intended for.

use super::callback::{self, seconder_callback, seconder_event};
use super::error::seconder_error;
use super::ffi::{self, Outcome, Plain, Text, with_out};
use super::names::{self, seconder_names};
use super::status::{SECONDER_NO, SECONDER_YES, seconder_status};
use super::text::seconder_text;
use super::userdata::{ByFunction, seconder_userdata_free};
use crate::callback::Verifier;
use crate::callback::replay::{Memory, Replay, ReplayEntry};
use crate::model::ApiKey;
use crate::{Error, Result};
use serde_json::Value;
use std::ffi::{c_char, c_void};
use std::time::Duration;

/// A callback whose signature was verified, as passed to a replay function. It is valid until the
/// function returns.
#[repr(C)]
pub struct seconder_replay_entry {
    /// Its signature, which covers the whole callback including the nonce: 44 characters of Base64.
    pub key: *const c_char,
    /// The `now` that was passed to seconder_verifier_verify(), in Unix seconds.
    pub now: u64,
    /// The last second at which the callback is fresh, after which it can be forgotten; 0 if
    /// freshness is not checked, so that it must be remembered forever.
    pub until: u64,
}

/// Remembers callbacks, for an application of several processes, in a table with a unique key for
/// example. It returns SECONDER_YES if the callback was received for the first time, and is
/// remembered from now on; SECONDER_NO if it was received before; any other number if this cannot
/// be determined, in which case the callback is rejected and seconder_verifier_verify() returns
/// SECONDER_STORAGE.
///
/// The check and the insertion must be atomic: of two threads with the same callback, only one may
/// receive SECONDER_YES. It runs inside seconder_verifier_verify(), on the same thread, and on
/// several threads at once if several verify callbacks. It must return normally: it must not be
/// left by longjmp() or a C++ exception.
pub type seconder_replay = Option<
    unsafe extern "C" fn(
        callback: *const seconder_replay_entry,
        replay_userdata: *mut c_void,
    ) -> i32,
>;

/// Options of seconder_verifier_new().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_verifier_options {
    /// The callback URLs as configured with the service; more than one during a move, for example.
    /// The `url` of a callback must then be NULL or one of them; without any, every callback must
    /// have its own `url`.
    pub urls: *const *const c_char,
    /// The number of URLs at `urls`, at most 1000.
    pub urls_count: usize,
    /// Rejects callbacks whose nonce is not a time in Unix seconds within this many seconds of now,
    /// before or after; a few minutes allow for clocks that differ. Default: freshness is not
    /// checked.
    pub fresh_seconds: u32,
    /// The names that the service uses where the interface document says `svc`. Default: the
    /// document's.
    pub names: *const seconder_names,
    /// The size of the struct at `names`: `sizeof *names`.
    pub names_size: usize,
    /// The capacity of a memory of received callbacks in this process: how many there can be within
    /// one window of freshness, at about 200 bytes each. When it is full, new callbacks are
    /// rejected with SECONDER_RATE_LIMITED. Requires `fresh_seconds`. Default: no memory, so that a
    /// recorded callback can be replayed.
    pub replay_capacity: usize,
    /// The program's own memory of received callbacks, instead of `replay_capacity`.
    pub replay: seconder_replay,
    /// Passed to the replay function. It must be safe to use from many threads at once.
    pub replay_userdata: *mut c_void,
    /// Called exactly once with `replay_userdata`, when nothing can use it any longer: when the
    /// verifier is freed, and before seconder_verifier_new() returns if it fails.
    pub replay_userdata_free: seconder_userdata_free,
}

// SAFETY: numbers, pointers, and functions that may be NULL.
unsafe impl Plain for seconder_verifier_options {}

/// Verifies callbacks. Create one, keep it, and share it between threads.
#[cfg_attr(false, c(freed = "a verifier. The last call with it must have returned"))]
pub struct seconder_verifier {
    verifier: Verifier,
}

/// Creates a verifier of callbacks signed with the application's API key (interface 5.5).
///
/// `out` may be used by many threads at once; free it with seconder_verifier_free().
/// SECONDER_INVALID_ARGUMENT for an invalid API key or option.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_verifier_new(
    api_key: *const c_char,
    options: *const seconder_verifier_options,
    options_size: usize,
    out: *mut *mut seconder_verifier,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires. The owner of the userdata is created before anything can
    // fail, so that it is freed exactly once in any case.
    unsafe {
        let (options, rest) = ffi::sized_and_rest("options_size", options, options_size);
        let o = &options;
        let replay = ByFunction::new(o.replay, o.replay_userdata, o.replay_userdata_free);
        with_out(out, error, move || {
            rest?;
            let key: ApiKey = ffi::value("api_key", api_key)?;
            let verifier = remembering(verifier(key, &options)?, &options, replay)?;
            Ok(seconder_verifier { verifier })
        })
    }
}

/// # Safety
/// Every pointer is NULL or as the header requires.
unsafe fn verifier(key: ApiKey, options: &seconder_verifier_options) -> Outcome<Verifier> {
    // SAFETY: promised by the caller.
    let (urls, names) = unsafe {
        let urls = ffi::texts(["urls", "urls_count"], options.urls, options.urls_count)?;
        (urls, names::read(options.names, options.names_size)?)
    };
    let mut verifier = Verifier::new(key).names(names);
    for url in urls {
        verifier = verifier.url(url);
    }
    Ok(match options.fresh_seconds {
        0 => verifier,
        seconds => verifier.fresh(Duration::from_secs(seconds.into())),
    })
}

fn remembering(
    verifier: Verifier,
    options: &seconder_verifier_options,
    replay: ByFunction<seconder_replay>,
) -> Outcome<Verifier> {
    match (replay.function.is_some(), options.replay_capacity) {
        (false, 0) => Ok(verifier),
        (true, 0) => Ok(verifier.replay(replay)),
        (false, _) if options.fresh_seconds == 0 => Err(Error::invalid_argument(
            "replay_capacity",
            "requires fresh_seconds, or entries would never expire",
        )
        .into()),
        (false, capacity) => Ok(verifier.replay(Memory::new(capacity))),
        (true, _) => {
            Err(Error::invalid_argument("replay_capacity", "must not be combined with replay")
                .into())
        }
    }
}

impl Replay for ByFunction<seconder_replay> {
    fn first_time(&self, callback: &ReplayEntry<'_>) -> Result<bool> {
        let unknown = |message| Err(Error::Storage { message });
        let Some(replay) = self.function else {
            return unknown("there is no replay function".into());
        };
        let key = Text::new(callback.key);
        let until = callback.until.unwrap_or_default();
        let entry = seconder_replay_entry { key: key.as_ptr(), now: callback.now, until };
        // SAFETY: the entry lives until the function returns, and the userdata as long as `self`.
        match unsafe { replay(&entry, self.userdata.as_ptr()) } {
            SECONDER_YES => Ok(true),
            SECONDER_NO => Ok(false),
            other => unknown(format!("the replay function returned {other}")),
        }
    }
}

/// Verifies and parses a callback (interface 5.5). `now` is the time in Unix seconds, which matters
/// only if the verifier checks freshness or has a memory.
///
/// SECONDER_OK means that the service sent the callback, not that the user approved: check that
/// with seconder_event_approved_by() on the event at `out`, and free it with seconder_event_free().
/// SECONDER_INVALID_CALLBACK means that nothing in it may be trusted, because its signature is
/// invalid, it is stale, or it was received before: respond with status 401.
/// SECONDER_INVALID_ARGUMENT means that the key or a field of `received` is invalid;
/// SECONDER_RATE_LIMITED, that the memory of received callbacks is full; SECONDER_STORAGE, that it
/// could not be consulted.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_verifier_verify(
    verifier: Option<&seconder_verifier>,
    received: *const seconder_callback,
    received_size: usize,
    now: u64,
    out: *mut *mut seconder_event,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let verifier = &ffi::need("verifier", verifier)?.verifier;
            let received = callback::read(received, received_size, false)?;
            Ok(verifier.verify(&received, now)?.into())
        })
    }
}

/// Verifies the signature alone, without interpreting the parameters or checking their age, and
/// returns the parameters that the signature covers, as the text of a JSON object.
///
/// Free `out` with seconder_text_free(). SECONDER_INVALID_CALLBACK means that nothing in the
/// callback may be trusted; SECONDER_INVALID_ARGUMENT, that the key or a field of `received` is
/// invalid.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_verifier_parameters(
    verifier: Option<&seconder_verifier>,
    received: *const seconder_callback,
    received_size: usize,
    out: *mut *mut seconder_text,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let verifier = &ffi::need("verifier", verifier)?.verifier;
            let received = callback::read(received, received_size, false)?;
            let parameters = verifier.parameters(&received)?;
            Ok(seconder_text::new(&Value::Object(parameters).to_string()))
        })
    }
}
