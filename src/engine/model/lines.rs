//! Facts about phone numbers that a provider has returned.

use crate::calls::PhoneType;
use crate::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The longest name of a carrier, in characters.
pub(in crate::engine) const LONGEST_NAME: usize = 100;

/// The known facts about the line behind a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhoneLine {
    /// The name of the carrier. Control characters are removed, and it is cut after 100 characters.
    pub carrier: Option<String>,
    /// The type of the line.
    pub kind: Option<LineType>,
    /// True if it was ported from another carrier.
    pub ported: Option<bool>,
}

/// The type of line behind a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LineType {
    /// A mobile phone.
    Mobile,
    /// A landline, which receives calls and no SMS.
    Landline,
    /// A number of a telephone service over the Internet.
    Voip,
    /// A number that anyone can use for a while, such as one on a website that shows its messages.
    Disposable,
}

impl LineType {
    /// Every type.
    pub const ALL: [LineType; 4] =
        [LineType::Mobile, LineType::Landline, LineType::Voip, LineType::Disposable];

    /// Returns the name: `mobile`, `landline`, `voip` or `disposable`.
    pub const fn name(self) -> &'static str {
        match self {
            LineType::Mobile => "mobile",
            LineType::Landline => "landline",
            LineType::Voip => "voip",
            LineType::Disposable => "disposable",
        }
    }

    /// Returns the type that the numbering plan says, if it says one.
    pub(in crate::engine) fn of_plan(kind: PhoneType) -> Option<LineType> {
        match kind {
            PhoneType::Cellphone => Some(LineType::Mobile),
            PhoneType::Landline => Some(LineType::Landline),
            PhoneType::Voip => Some(LineType::Voip),
            PhoneType::Unknown => None,
        }
    }
}

impl FromStr for LineType {
    type Err = Error;

    fn from_str(text: &str) -> Result<LineType> {
        let found = LineType::ALL.into_iter().find(|kind| kind.name() == text);
        let reason = "must be mobile, landline, voip or disposable";
        found.ok_or_else(|| Error::invalid_argument("line_type", reason))
    }
}

impl fmt::Display for LineType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PhoneLine {
    /// Returns the type in the interface, which has no word for a disposable number.
    pub(in crate::engine) fn phone_type(&self, of_plan: PhoneType) -> PhoneType {
        match self.kind {
            Some(LineType::Mobile) => PhoneType::Cellphone,
            Some(LineType::Landline) => PhoneType::Landline,
            Some(LineType::Voip) => PhoneType::Voip,
            Some(LineType::Disposable) | None => of_plan,
        }
    }

    pub(in crate::engine) fn cleaned(self) -> PhoneLine {
        let carrier = self.carrier.map(|name| {
            let plain = name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME);
            plain.collect::<String>().trim().to_owned()
        });
        PhoneLine { carrier: carrier.filter(|name| !name.is_empty()), ..self }
    }
}

/// Looks up a number, usually by asking a provider: [`Settings::lookup`].
///
/// [`Settings::lookup`]: crate::Settings::lookup
pub trait NumberLookup: Send + Sync {
    /// Looks up a number, in E.164: `+15550100123`. It is called during the call that needs it, which it
    /// holds up, so it must return within seconds. `None` if the look-up failed: nothing is known of the
    /// number then, and it is looked up again after a minute at the earliest. A [`PhoneLine`] without any
    /// fact is an answer too, which is kept for a day.
    fn look_up(&self, number: &str) -> Option<PhoneLine>;

    /// Reserves one look-up, before it is counted. Default: by [`look_up`](NumberLookup::look_up), at any
    /// time.
    fn reserve(&self) -> Reserved<'_> {
        Reserved::LookUp(Box::new(|number| self.look_up(number)))
    }
}

/// Makes one look-up: [`NumberLookup::look_up`].
pub type LookUp<'a> = Box<dyn FnOnce(&str) -> Option<PhoneLine> + 'a>;

/// The permission to look up a number now, if there is one.
#[non_exhaustive]
pub enum Reserved<'a> {
    /// By this function. It is dropped without a call if the look-up is not allowed, and must then
    /// release what it has reserved.
    LookUp(LookUp<'a>),
    /// Not now. Nothing is counted, only earlier results of the provider are known, and the audit says so.
    NotNow,
    /// There is no provider, so only earlier results are known.
    NoProvider,
}

impl fmt::Debug for Reserved<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reserved::LookUp(_) => "LookUp",
            Reserved::NotNow => "NotNow",
            Reserved::NoProvider => "NoProvider",
        })
    }
}

impl<F> NumberLookup for F
where
    F: Fn(&str) -> Option<PhoneLine> + Send + Sync,
{
    fn look_up(&self, number: &str) -> Option<PhoneLine> {
        self(number)
    }
}
