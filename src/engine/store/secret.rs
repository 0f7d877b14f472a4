//! The secret of a sealed column, between a row and the store.

use crate::Result;
use std::cmp::Ordering;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A secret that passes between a row and the store.
#[derive(Clone)]
pub(in crate::engine) struct Secret {
    pub(super) plain: Result<Zeroizing<Vec<u8>>>,
    /// The stored ciphertext, while the secret is unchanged: it need not be sealed again.
    pub(super) stored: Option<Arc<[u8]>>,
}

impl Secret {
    fn order(&self) -> (Option<&[u8]>, Option<&[u8]>) {
        match &self.plain {
            Ok(plain) => (Some(plain), None),
            Err(_) => (None, self.stored.as_deref()),
        }
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Secret) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Secret {}

impl PartialOrd for Secret {
    fn partial_cmp(&self, other: &Secret) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Secret {
    fn cmp(&self, other: &Secret) -> Ordering {
        self.order().cmp(&other.order())
    }
}
