//! What operations on remembered browsers take.

use super::AppId;
use crate::engine::clock::Time;
use crate::model::UserId;

/// Which remembered browser.
pub(in crate::engine) struct BrowserKey {
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) user_id: UserId,
    /// The hash of the id in its token.
    pub(in crate::engine) id_hash: [u8; 32],
}

pub(in crate::engine) struct NewBrowser {
    pub(in crate::engine) key: BrowserKey,
    pub(in crate::engine) expires_at: Time,
    /// With more browsers of the user than this, the one that was remembered first is forgotten.
    pub(in crate::engine) most: u32,
    pub(in crate::engine) now: Time,
}
