//! PAM's data about a login, and syslog.

use libpam_sys::{
    PAM_AUTHTOK, PAM_RHOST, PAM_SERVICE, PAM_SUCCESS, PAM_TTY, PAM_USER, pam_get_item,
    pam_get_user, pam_handle, pam_set_item, pam_syslog,
};
use seconder::model::Secret;
use seconder_login::{Journal, Silent};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use zeroize::Zeroizing;

/// The handle of one login, valid during `'a`.
pub(crate) struct Handle<'a> {
    raw: NonNull<pam_handle>,
    valid: PhantomData<&'a pam_handle>,
}

impl Handle<'_> {
    /// # Safety
    /// `raw` is NULL, or PAM's handle, which is valid during the life of the result.
    pub(crate) unsafe fn new(raw: *mut pam_handle) -> Option<Self> {
        Some(Handle { raw: NonNull::new(raw)?, valid: PhantomData })
    }

    /// Returns the name of the user who logs in. PAM asks for the name if the program does not know
    /// it.
    pub(crate) fn user(&self) -> Option<String> {
        let mut user: *const c_char = ptr::null();
        // SAFETY: the handle is valid, and NULL selects the usual prompt.
        let status = unsafe { pam_get_user(self.raw.as_ptr(), &mut user, ptr::null()) };
        if status != PAM_SUCCESS {
            return None;
        }
        self.text(PAM_USER)
    }

    /// Returns the machine that the user comes from.
    pub(crate) fn remote(&self) -> Option<String> {
        self.text(PAM_RHOST)
    }

    /// Returns the program, by the name of its file in /etc/pam.d.
    pub(crate) fn service(&self) -> Option<String> {
        self.text(PAM_SERVICE)
    }

    /// Returns the terminal, as the program names it.
    pub(crate) fn terminal(&self) -> Option<String> {
        self.text(PAM_TTY)
    }

    /// Returns the text that the user typed for a module before this one.
    pub(crate) fn typed_before(&self) -> Option<Secret> {
        // SAFETY: this item is text.
        let text = unsafe { self.bytes(PAM_AUTHTOK) }?.to_str().ok()?;
        Some(Secret::new(text))
    }

    /// Sets the password that modules after this one find as typed.
    pub(crate) fn set_typed(&self, password: &Secret) -> Result<(), Silent> {
        let mut text = Zeroizing::new(Vec::with_capacity(password.expose().len() + 1));
        text.extend_from_slice(password.expose().as_bytes());
        text.push(0);
        let text = CStr::from_bytes_with_nul(&text).map_err(|_| Silent)?;
        // SAFETY: the handle is valid. PAM copies the text, and wipes its copy at the end.
        match unsafe { pam_set_item(self.raw.as_ptr(), PAM_AUTHTOK, text.as_ptr().cast()) } {
            PAM_SUCCESS => Ok(()),
            _ => Err(Silent),
        }
    }

    /// Returns a copy of an item, unless it is empty or not UTF-8.
    fn text(&self, item: c_int) -> Option<String> {
        debug_assert!([PAM_USER, PAM_RHOST, PAM_SERVICE, PAM_TTY].contains(&item));
        // SAFETY: these items are text.
        let text = unsafe { self.bytes(item) }?.to_str().ok()?;
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// # Safety
    /// The item is text. The result is used only until the item is set.
    unsafe fn bytes(&self, item: c_int) -> Option<&CStr> {
        let text = self.item(item)?.cast::<c_char>();
        // SAFETY: promised by the caller; PAM's texts end with NUL.
        Some(unsafe { CStr::from_ptr(text.as_ptr()) })
    }

    /// Returns a pointer to an item.
    pub(crate) fn item(&self, item: c_int) -> Option<NonNull<c_void>> {
        let mut value: *const c_void = ptr::null();
        // SAFETY: the handle is valid, and `value` can be written to.
        let status = unsafe { pam_get_item(self.raw.as_ptr(), item, &mut value) };
        if status != PAM_SUCCESS {
            return None;
        }
        NonNull::new(value.cast_mut())
    }

    fn log(&self, priority: c_int, text: &str) {
        // A NUL would end the text early.
        let Ok(text) = CString::new(text.replace('\0', " ")) else { return };
        // SAFETY: the handle is valid, and the format takes one text.
        unsafe { pam_syslog(self.raw.as_ptr(), priority, c"%s".as_ptr(), text.as_ptr()) };
    }
}

/// Writes to syslog, facility authpriv, with the names of the module and of the program.
pub(crate) struct Syslog<'a>(pub(crate) &'a Handle<'a>);

impl Journal for Syslog<'_> {
    fn error(&mut self, text: &str) {
        self.0.log(libc::LOG_ERR, text);
    }

    fn notice(&mut self, text: &str) {
        self.0.log(libc::LOG_NOTICE, text);
    }
}
