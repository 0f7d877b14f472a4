//! Callbacks that are believed once, while they are fresh, at the URLs they were meant for.

use super::callback::{self, seconder_callback, seconder_event};
use super::error::seconder_error;
use super::ffi::{self, Outcome, Plain, Text, free, with_out};
use super::names::{self, seconder_names};
use super::status::{SECONDER_NO, SECONDER_YES, seconder_status};
use super::text::seconder_text;
use super::userdata::{Userdata, seconder_userdata_free};
use crate::callback::Verifier;
use crate::callback::replay::{Memory, Replay, ReplayEntry};
use crate::model::Secret;
use crate::{Error, Result};
use serde_json::Value;
use std::ffi::{c_char, c_void};
use std::time::Duration;

/// A callback whose signature held, as a replay function is asked about it. It lives until the
/// function returns.
#[repr(C)]
pub struct seconder_replay_entry {
    /// Its signature, which covers all of it, the nonce included: 44 characters of Base64.
    pub key: *const c_char,
    /// The time that seconder_verifier_verify() was given, in Unix seconds.
    pub now: u64,
    /// The last second at which the callback is fresh, after which it can be forgotten; 0 when
    /// freshness was not asked for, so that it must be remembered for ever.
    pub until: u64,
}

/// Remembers callbacks, for an application of several processes: such as a table with a unique key.
/// SECONDER_YES says that the callback is here for the first time, and is remembered from now on;
/// SECONDER_NO, that it was received before; any other number, that the memory cannot tell, so that
/// the callback is not believed and seconder_verifier_verify() gives SECONDER_STORAGE.
///
/// Looking and remembering are one step: of two threads with one callback, one is told SECONDER_YES.
/// It runs inside seconder_verifier_verify(), on its thread, and for many threads at once when many
/// verify. It must return: no longjmp() and no C++ exception may leave it.
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
    /// The callback URLs as they are configured with the service; more than one during a move, for
    /// example. The `url` of a callback must then be NULL or one of them; without any, every callback
    /// has to come with its own.
    pub urls: *const *const c_char,
    /// How many URLs there are at `urls`.
    pub urls_count: usize,
    /// Refuses callbacks whose nonce is not a Unix second within so many seconds of now, before or
    /// after; a few minutes allow for clocks that differ. Default: no freshness is asked for.
    pub fresh_seconds: u32,
    /// The names that the service uses where the interface document says `svc`. Default: the
    /// document's.
    pub names: *const seconder_names,
    /// The size of the struct at `names`: `sizeof *names`.
    pub names_size: usize,
    /// A memory of received callbacks in this process: how many there can be within one window of
    /// freshness, each of which takes about 200 bytes. A memory that is full refuses new callbacks
    /// with SECONDER_RATE_LIMITED. It needs `fresh_seconds`. Default: none, so that a callback that
    /// somebody recorded is believed again.
    pub replay_capacity: usize,
    /// In place of `replay_capacity`: a memory of the program's own.
    pub replay: seconder_replay,
    /// What the replay function is given. It must bear use by many threads at once.
    pub replay_userdata: *mut c_void,
    /// Runs exactly once with `replay_userdata`, when nothing can use it any more: when the verifier
    /// is freed, and before seconder_verifier_new() returns when it fails.
    pub replay_userdata_free: seconder_userdata_free,
}

// SAFETY: numbers, pointers, and functions that may be NULL.
unsafe impl Plain for seconder_verifier_options {}

/// Checks callbacks. Make one, keep it, and share it between threads.
pub struct seconder_verifier {
    verifier: Verifier,
}

/// Makes a verifier of the callbacks that are signed with the application's API key (interface 5.5).
///
/// `out` may be used by many threads at once and is freed with seconder_verifier_free().
/// SECONDER_INVALID_ARGUMENT for an option that cannot be right.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_verifier_new(
    api_key: *const c_char,
    options: *const seconder_verifier_options,
    options_size: usize,
    out: *mut *mut seconder_verifier,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks. What the caller's data belong to is made before anything can fail.
    unsafe {
        let (options, rest) = ffi::sized_and_rest("options_size", options, options_size);
        let userdata = Userdata::new(options.replay_userdata, options.replay_userdata_free);
        let replay = ByFunction { replay: options.replay, userdata };
        with_out(out, error, move || {
            rest?;
            let key: Secret = ffi::value("api_key", api_key)?;
            let verifier = remembering(verifier(key, &options)?, &options, replay)?;
            Ok(seconder_verifier { verifier })
        })
    }
}

/// # Safety
/// Every pointer is NULL or what the header says.
unsafe fn verifier(key: Secret, options: &seconder_verifier_options) -> Outcome<Verifier> {
    // SAFETY: promised by the caller.
    let (urls, names) = unsafe {
        let urls = ffi::texts("urls", options.urls, options.urls_count)?;
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
    replay: ByFunction,
) -> Outcome<Verifier> {
    match (replay.replay.is_some(), options.replay_capacity) {
        (false, 0) => Ok(verifier),
        (true, 0) => Ok(verifier.replay(replay)),
        (false, _) if options.fresh_seconds == 0 => Err(Error::invalid_argument(
            "replay_capacity",
            "needs fresh_seconds: it cannot grow for ever",
        )
        .into()),
        (false, capacity) => Ok(verifier.replay(Memory::new(capacity))),
        (true, _) => {
            Err(Error::invalid_argument("replay_capacity", "cannot go with replay").into())
        }
    }
}

/// A replay function with what belongs to it.
struct ByFunction {
    replay: seconder_replay,
    userdata: Userdata,
}

impl Replay for ByFunction {
    fn first_time(&self, callback: &ReplayEntry<'_>) -> Result<bool> {
        let cannot_tell = |message| Err(Error::Storage { message });
        let Some(replay) = self.replay else {
            return cannot_tell("there is no replay function".into());
        };
        let key = Text::new(callback.key);
        let until = callback.until.unwrap_or_default();
        let seen = seconder_replay_entry { key: key.as_ptr(), now: callback.now, until };
        // SAFETY: what is seen lives until the function returns, and the data until this goes.
        match unsafe { replay(&seen, self.userdata.as_ptr()) } {
            SECONDER_YES => Ok(true),
            SECONDER_NO => Ok(false),
            other => cannot_tell(format!("the replay function returned {other}")),
        }
    }
}

/// Checks a callback and reads it (interface 5.5). `now` is the time in Unix seconds, which matters
/// only where freshness or a memory was asked for.
///
/// SECONDER_OK says that the service sent it, and nothing of the answer: ask
/// seconder_event_approved_by() of the event at `out`, and free it with seconder_event_free().
/// SECONDER_INVALID_CALLBACK says that nothing of it is to be believed, because its signature does not hold, it
/// is stale, or it was received before: answer it with status 401. SECONDER_INVALID_ARGUMENT says that the key
/// or a field of `received` cannot be right; SECONDER_RATE_LIMITED and SECONDER_STORAGE, that the memory
/// of received callbacks is full or cannot tell.
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
    // SAFETY: as the header asks.
    unsafe {
        with_out(out, error, || {
            let verifier = &ffi::need("verifier", verifier)?.verifier;
            let received = callback::read(received, received_size, false)?;
            Ok(verifier.verify(&received, now)?.into())
        })
    }
}

/// Checks the signature alone, whatever the parameters mean and however old they are, and gives those
/// that it covers: the text of a JSON object.
///
/// `out` is freed with seconder_text_free(). SECONDER_INVALID_CALLBACK says that nothing of it is to be
/// believed; SECONDER_INVALID_ARGUMENT, that the key or a field of `received` cannot be right.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_verifier_parameters(
    verifier: Option<&seconder_verifier>,
    received: *const seconder_callback,
    received_size: usize,
    out: *mut *mut seconder_text,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        with_out(out, error, || {
            let verifier = &ffi::need("verifier", verifier)?.verifier;
            let received = callback::read(received, received_size, false)?;
            let parameters = verifier.parameters(&received)?;
            Ok(seconder_text::new(&Value::Object(parameters).to_string()))
        })
    }
}

/// Frees a verifier, after the last call with it has returned. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_verifier_free(verifier: Option<Box<seconder_verifier>>) {
    free(verifier);
}
