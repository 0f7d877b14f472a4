//! Push messages to devices (RFC 8030): subscriptions, and the content of a message.

use super::super::jobs::UNSENT;
use super::invitations::misleads;
use super::published::{Published, origin};
use crate::engine::core::Engine;
use crate::engine::core::Lane;
use crate::engine::delivery::Outcome;
use crate::engine::delivery::{PushMessage, PushOutcome};
use crate::engine::model::clock::Now;
use crate::engine::model::texts;
use crate::engine::operations::jobs::{Claimed, Notice, PUSHES};
use crate::engine::operations::{Subject, approver as stored, pushes as changes};
use crate::engine::store;
use crate::webpush::{self, SubscriptionKeys};
use crate::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// No endpoint of a browser is longer.
const LONGEST_ENDPOINT: usize = 2048;
/// The part of a question that a notification shows, in characters.
const LONGEST_BODY: usize = 240;

/// A subscription to push messages, as a browser has it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Subscription {
    /// The URL to which messages are posted.
    pub endpoint: String,
    /// The public key of the browser, in Base64 with the URL alphabet.
    pub p256dh: String,
    /// The secret that messages are authenticated with, in the same.
    pub auth: String,
}

/// An endpoint is not shown, because anyone who has it can send messages to it.
impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}

impl Subscription {
    fn keys(&self) -> Result<SubscriptionKeys> {
        let bytes =
            |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).unwrap_or_default();
        SubscriptionKeys::new(&bytes(&self.p256dh), &bytes(&self.auth))
            .map_err(|error| error.of_parameter("subscription"))
    }
}

impl Engine {
    /// Returns a subscription as it is stored, if messages can be sent to it.
    pub(super) fn checked(&self, subscription: &Subscription) -> Result<String> {
        if subscription.endpoint.len() > LONGEST_ENDPOINT {
            return Err(Error::invalid_argument(
                "subscription",
                "has an endpoint that is too long",
            ));
        }
        self.shared
            .push_hosts
            .check(&subscription.endpoint)
            .map_err(|error| error.of_parameter("subscription"))?;
        let keys = subscription.keys()?;
        keys.check().map_err(|error| error.of_parameter("subscription"))?;
        serde_json::to_string(subscription)
            .map_err(|error| Error::Internal { message: error.to_string() })
    }

    /// Returns the lane of push messages.
    pub fn push_lane(&self) -> Lane {
        let longest = self.shared.push.as_ref().map_or(UNSENT, |push| push.longest_attempt());
        Lane { name: PUSHES.to_owned(), longest_attempt: longest }
    }

    /// Sends a message to a device.
    pub(in crate::engine) fn push(
        &self,
        claimed: &Claimed,
        (device, notice): (u64, &Notice),
        now: Now,
    ) -> Result<Outcome> {
        let Some(sender) = &self.shared.push else {
            let reason = "this process does not send push messages".to_owned();
            return Ok(Outcome::NotAttempted { after: None, reason });
        };
        let Some(user_id) = Subject::user_of(&claimed.lease.subject) else {
            return Ok(Outcome::Permanent("it is for no user".into()));
        };
        let uuid = notice.request().map(str::to_owned);
        let found = self.look(move |view| {
            let approver = stored::find(view)?.and_then(Published::of);
            let device = view.get::<store::Device>((user_id.get(), device))?;
            let request = match &uuid {
                Some(uuid) => view.get::<store::Approval>((user_id.get(), uuid.clone()))?,
                None => None,
            };
            Ok((approver, device, request))
        })?;
        let (Some(approver), Some(row), approval) = found else {
            return Ok(Outcome::Permanent("the device was removed".into()));
        };
        let Some(app) = self.application(claimed.app)? else {
            return Ok(Outcome::Permanent("the application was removed".into()));
        };
        let stored = row.push.get()?.clone();
        let Ok(subscription) = serde_json::from_str::<Subscription>(&stored) else {
            return Ok(Outcome::Permanent("the device has no subscription".into()));
        };
        let question = approval.filter(|_| app.settings.limits.push_shows_message == 1);
        let language = row.language.as_deref().unwrap_or("en");
        let body = notification(&approver, &app.settings.name, language, notice, question.as_ref());
        let left = claimed.deadline.after(now.steady).unwrap_or_default();
        let message = PushMessage {
            authorization: self.authorization(&approver, &subscription.endpoint, now)?,
            body: webpush::encrypt(&subscription.keys()?, body.as_bytes())?,
            endpoint: subscription.endpoint,
            ttl: left,
            // A request replaces earlier messages about it on a phone that was off.
            topic: notice.request().map(|uuid| uuid.replace('-', "")),
        };
        let outcome = sender.send(&message);
        if outcome == PushOutcome::Gone {
            let ended = stored.clone();
            self.run(move |view| changes::end_subscription(view, user_id, device, &ended))?;
        }
        if let PushOutcome::Rejected(reason) = &outcome {
            self.shared.events.push_rejected(reason);
        }
        if let PushOutcome::Retry { reason, .. } = &outcome {
            self.shared.events.push_failed(&origin(&message.endpoint), reason);
        }
        Ok(match outcome {
            PushOutcome::Accepted => Outcome::Sent(None),
            PushOutcome::Gone => Outcome::Permanent("the subscription has ended".into()),
            PushOutcome::Rejected(reason) => Outcome::Permanent(reason),
            PushOutcome::Retry { after, reason } => Outcome::Retry { after, reason },
        })
    }

    /// Returns the header that identifies the service to a push service (RFC 8292): its VAPID
    /// token.
    fn authorization(&self, approver: &Published, endpoint: &str, now: Now) -> Result<String> {
        let audience = super::published::origin(endpoint);
        self.shared.push_tokens.get(
            approver.row.push_key.get()?,
            &audience,
            &approver.url,
            now.clock.seconds(),
        )
    }
}

/// Returns a text without the characters that the page makes visible, and a notification cannot.
fn plain(text: impl Iterator<Item = char>) -> String {
    text.map(|letter| match letter {
        '\n' => ' ',
        letter if misleads(letter) => char::REPLACEMENT_CHARACTER,
        letter => letter,
    })
    .collect()
}

/// Returns the content of a notification, in the form that browsers also show without the app
/// (declarative push).
fn notification(
    approver: &Published,
    application: &str,
    language: &str,
    notice: &Notice,
    question: Option<&store::Approval>,
) -> String {
    let texts = texts::notices(language);
    let page = approver.page();
    let (body, navigate, tag) = match notice {
        Notice::Request(uuid) => (texts.asks, format!("{page}#r={uuid}"), uuid.as_str()),
        Notice::Device => (texts.device, format!("{page}#devices"), "devices"),
        Notice::Number => (texts.number, format!("{page}#devices"), "number"),
    };
    let body = match question {
        Some(row) => plain(row.message.chars().take(LONGEST_BODY)),
        None => body.to_owned(),
    };
    let notification = json!({
        "title": plain(application.chars()),
        "body": body,
        "navigate": navigate,
        "lang": language,
        "dir": "auto",
        "tag": tag,
        "silent": false,
    });
    json!({ "web_push": 8030, "notification": notification }).to_string()
}
