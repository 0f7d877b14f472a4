//! Job payloads: a message, a callback or a push message, sealed in its row.

use crate::calls::Channel;
use crate::engine::model::jobs::JobKind;
use crate::engine::model::texts::Wording;
use crate::engine::store::{Job, Sealed};
use crate::model::CallbackUrl;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

#[derive(Clone)]
pub(in crate::engine) enum What {
    Message {
        message: Outgoing,
        /// `None` for the install message to a new user.
        code: Option<Zeroizing<String>>,
    },
    Callback {
        url: CallbackUrl,
        body: String,
    },
    /// To a device.
    Push {
        device: u64,
        notice: Notice,
    },
}

/// The subject of a push message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Notice {
    /// An approval request.
    Request(String),
    /// Another device was registered.
    Device,
    /// The number of the user was changed.
    Number,
}

impl Notice {
    pub(in crate::engine) fn request(&self) -> Option<&str> {
        match self {
            Notice::Request(uuid) => Some(uuid),
            Notice::Device | Notice::Number => None,
        }
    }
}

impl What {
    /// Returns the payload in its stored form.
    pub(super) fn sealed(&self) -> crate::Result<Sealed<String>> {
        match self {
            What::Message { message, code } => {
                let code = code.as_deref();
                Sealed::json(&MessagePayload { message, code })
            }
            What::Callback { url, body } => {
                Sealed::json(&CallbackPayload { url: url.as_str(), body })
            }
            What::Push { device, notice } => Sealed::json(&PushPayload {
                device: *device,
                request: notice.request().map(str::to_owned),
                number: *notice == Notice::Number,
            }),
        }
    }
}

/// A message without its code, and the data that is needed to count it.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::engine) struct Outgoing {
    pub(in crate::engine) to: String,
    pub(in crate::engine) masked: String,
    pub(in crate::engine) by_voice: bool,
    pub(in crate::engine) text: Wording,
    pub(in crate::engine) country: u16,
    pub(in crate::engine) network: Option<String>,
    /// The user's address in the call, for the audit of the message's delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::engine) user_ip: Option<String>,
}

impl Outgoing {
    /// Returns the channel by which it goes.
    pub(in crate::engine) fn channel(&self) -> Channel {
        if self.by_voice { Channel::Call } else { Channel::Sms }
    }
}

#[derive(Serialize, Deserialize)]
struct MessagePayload<M, C> {
    message: M,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<C>,
}

#[derive(Serialize, Deserialize)]
struct PushPayload {
    device: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    /// Whether it is about the number of the user.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    number: bool,
}

#[derive(Serialize, Deserialize)]
struct CallbackPayload<T> {
    url: T,
    body: T,
}

/// Reads the payload of a job.
pub(in crate::engine) fn what(job: &Job) -> crate::Result<What> {
    let damaged = || super::super::damaged("jobs", "payload");
    let payload = job.payload.get()?;
    if job.kind == JobKind::Callback {
        let read: CallbackPayload<String> = serde_json::from_str(payload).map_err(|_| damaged())?;
        return Ok(What::Callback { url: CallbackUrl::stored(read.url), body: read.body });
    }
    if job.kind == JobKind::Push {
        let read: PushPayload = serde_json::from_str(payload).map_err(|_| damaged())?;
        let notice = match read.request {
            Some(uuid) => Notice::Request(uuid),
            None if read.number => Notice::Number,
            None => Notice::Device,
        };
        return Ok(What::Push { device: read.device, notice });
    }
    let read: MessagePayload<Outgoing, String> =
        serde_json::from_str(payload).map_err(|_| damaged())?;
    Ok(What::Message { message: read.message, code: read.code.map(Zeroizing::new) })
}
