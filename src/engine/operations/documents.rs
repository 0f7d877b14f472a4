//! Documents that providers fetch, such as the text that the voice of a call reads out. Each has a
//! code, so it leaves the database once, and only while the code is of use.

use super::codes::is_code;
use super::jobs::carried::{What, what};
use crate::engine::model::clock::Now;
use crate::engine::store::{Decided, Document, Job, Sealed, View};
use crate::model::Secret;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use zeroize::Zeroizing;

/// The time for which the document of a test can be fetched.
const TEST: Duration = Duration::from_secs(10 * 60);

/// A document, and the code in it; `None` in the document of a test.
#[derive(Serialize, Deserialize)]
struct Content<T> {
    text: T,
    code: Option<T>,
}

/// A document to keep, which can be fetched with the token of this hash.
pub(in crate::engine) struct NewDocument {
    pub(in crate::engine) token_hash: Vec<u8>,
    pub(in crate::engine) route: String,
    /// The job that it is a part of, by the key of its row; `None` for a test.
    pub(in crate::engine) job: Option<(String, i64)>,
    pub(in crate::engine) text: Secret,
}

/// Keeps a document. Returns false if its job is over, so that nothing has to be fetched.
pub(in crate::engine) fn keep(view: &mut View, new: &NewDocument, now: Now) -> Decided<bool> {
    let mut row = Document {
        token_hash: new.token_hash.clone(),
        route: new.route.clone(),
        subject: String::new(),
        action: String::new(),
        app_id: 0,
        content: "".into(),
        expires_at: now.steady.plus(TEST),
    };
    let mut carried = None;
    if let Some(key) = &new.job {
        let job = view.get::<Job>(key.clone())?;
        let Some(job) = job.filter(|job| job.deadline > now.steady) else { return Ok(false) };
        let Ok(What::Message { code, .. }) = what(&job) else { return Ok(false) };
        carried = code;
        (row.subject, row.action, row.app_id) = (job.subject, job.action, job.app_id);
        row.expires_at = job.deadline;
    }
    let (text, code) = (new.text.expose(), carried.as_ref().map(|code| code.as_str()));
    row.content = Sealed::json(&Content { text, code })?;
    view.append(row);
    Ok(true)
}

/// Takes a document out of the database; `None` if it does not exist, or its code is no longer of
/// use.
pub(in crate::engine) fn take(
    view: &mut View,
    token_hash: &[u8],
    route: &str,
    now: Now,
) -> Decided<Option<Secret>> {
    let row = view.get::<Document>((token_hash.to_vec(),))?;
    let Some(row) = row.filter(|row| row.route == route) else { return Ok(None) };
    let content: Content<String> = serde_json::from_str(row.content.get()?)
        .map_err(|_| super::damaged("documents", "content"))?;
    let (key, code) = ((row.subject.clone(), row.action.clone()), content.code.map(Zeroizing::new));
    let is_of_use = row.expires_at > now.steady
        && match &code {
            Some(code) => is_code(view, key, row.app_id, code, now)?,
            None => true,
        };
    view.delete(&row);
    Ok(is_of_use.then(|| Secret::new(content.text)))
}
