//! Authenticator apps: generating a secret, the QR code that carries it into the app, and the app's
//! first code.

use super::verify::reply;
use crate::calls::{
    AuthenticatorEnrolled, ConfirmAuthenticator, Done, EnrolAuthenticator, RemoveAuthenticator,
    Verification,
};
use crate::engine::core::Engine;
use crate::engine::model::clock::Time;
use crate::engine::model::{limits, rejections};
use crate::engine::operations::factors::{self, NewAuthenticator, Removed};
use crate::engine::operations::verify::Guess;
use crate::engine::operations::{AppId, listing};
use crate::model::{Secret, UserId};
use crate::otp::{Algorithm, Totp};
use crate::{Error, Handle, Result};
use base64::Engine as _;
use fast_qr::convert::{Builder, Shape, svg::SvgBuilder};
use std::time::Duration;
use zeroize::Zeroizing;

/// The default width and height of a QR code, in pixels.
const QR_SIZE: u64 = 300;
/// The number of apps read at once, small enough to delay no call for long.
const PAGE: u32 = 128;

impl Handle<EnrolAuthenticator> for Engine {
    fn handle(&self, call: &EnrolAuthenticator) -> Result<AuthenticatorEnrolled> {
        let now = self.begin();
        let user = self.user(call.user_id)?;
        let label = match &call.label {
            Some(label) => label.as_str().to_owned(),
            // An address may have a colon, which labels do not.
            None => user.account.replace(':', " "),
        };
        let mut secret = Zeroizing::new(vec![0; limits::SECRET_LENGTH]);
        self.shared.random.fill(&mut secret)?;
        let (digits, period) =
            (self.app.settings.authenticator_digits, self.app.settings.authenticator_period);
        let uri = Totp::new(&secret, Algorithm::Sha1, digits, period)?
            .uri(&self.app.settings.name, &label)?;
        let picture = picture(&uri, call.qr_size.unwrap_or(QR_SIZE))?;
        let (app, user_id) = (self.app.app_id, call.user_id);
        // The default label has the user's e-mail address or login name, which is stored with the user alone.
        let given = call.label.as_ref().map(|label| label.as_str().to_owned());
        let new = NewAuthenticator { app, user_id, label: given, secret, digits, period, now };
        let trail = self.trail::<EnrolAuthenticator>(now, None)?;
        let added = self.run(move |view| {
            let added = factors::add_authenticator(view, &new)?;
            if added {
                trail.done(view, user_id);
            }
            Ok(added)
        })?;
        if !added {
            return Err(rejections::user_not_found());
        }
        let mut enrolled = AuthenticatorEnrolled::new(uri, picture);
        enrolled.label = Some(label);
        enrolled.issuer = Some(self.app.settings.name.clone());
        Ok(enrolled)
    }
}

impl Handle<ConfirmAuthenticator> for Engine {
    fn handle(&self, call: &ConfirmAuthenticator) -> Result<Verification> {
        let now = self.begin();
        let sandbox = self.sandbox_accepts(Some(&call.code));
        let trail = self.trail::<ConfirmAuthenticator>(now, None)?;
        let guess = Guess::FirstOfApp { typed: call.code.clone(), sandbox };
        let checked = self.check(call.user_id, trail, guess)?;
        reply(checked, now)
    }
}

impl Engine {
    /// Accepts codes of the user's authenticator apps again after the clock was ahead. The clock must be right.
    pub(in crate::engine) fn reset_steps(
        &self,
        operation: &'static str,
        user_id: UserId,
    ) -> Result<()> {
        let (now, app) = (self.begin(), self.app.app_id);
        let trail = self.trail_of(operation, now, None)?;
        let found = self.run(move |view| {
            let found = factors::reset_steps(view, app, user_id, now)?;
            if found {
                trail.done(view, user_id);
            }
            Ok(found)
        })?;
        found.then_some(()).ok_or_else(rejections::user_not_found)
    }

    /// Returns the authenticator apps whose codes are all rejected because the clock was ahead when the last one was
    /// accepted, of all applications.
    pub(in crate::engine) fn apps_ahead(&self) -> Result<Vec<AppAhead>> {
        let now = self.now();
        let (mut after, mut found) = (None, Vec::new());
        loop {
            let page = self.look(move |view| listing::authenticators(view, after, PAGE))?;
            let Some(last) = page.last() else { return Ok(found) };
            after = Some((last.user_id, last.authenticator_id));
            let ahead: Vec<_> = page
                .iter()
                .filter_map(|app| {
                    let end = app.step_ahead(now)?.saturating_add(1).saturating_mul(app.period);
                    Some((app.user_id, Time(0).plus(Duration::from_secs(end))))
                })
                .collect();
            let users: Vec<_> = ahead.iter().map(|(user_id, _)| *user_id).collect();
            let apps = match users.as_slice() {
                [] => Vec::new(),
                _ => self.look(move |view| listing::applications_of(view, &users))?,
            };
            let of = |((user_id, until), app_id): ((u64, Time), Option<AppId>)| {
                Some(AppAhead { app_id: app_id?, user_id, until })
            };
            found.extend(ahead.into_iter().zip(apps).filter_map(of));
        }
    }
}

/// An authenticator app whose codes are all rejected until a time has come.
pub(in crate::engine) struct AppAhead {
    /// The application of the user.
    pub(in crate::engine) app_id: AppId,
    pub(in crate::engine) user_id: u64,
    pub(in crate::engine) until: Time,
}

impl Handle<RemoveAuthenticator> for Engine {
    fn handle(&self, call: &RemoveAuthenticator) -> Result<Done> {
        let now = self.begin();
        let text = call.authenticator_id.as_str();
        // An id has one spelling. Any other text matches no app: ids begin at 1.
        let id = text.parse().ok().filter(|id: &i64| id.to_string() == text).unwrap_or(0);
        let (app, user_id) = (self.app.app_id, call.user_id);
        let trail = self.trail::<RemoveAuthenticator>(now, None)?;
        let removed = self.run(move |view| {
            let removed = factors::remove_authenticator(view, app, user_id, id)?;
            if removed == Removed::Done {
                trail.done(view, user_id);
            }
            Ok(removed)
        })?;
        match removed {
            Removed::Done => Ok(Done::with_message("Authenticator app was removed.")),
            Removed::NoUser => Err(rejections::user_not_found()),
            Removed::NotFound => Err(rejections::authenticator_not_found()),
        }
    }
}

/// Returns the URI as a QR code, in an SVG that can be the source of an `<img>`.
pub(in crate::engine) fn picture(uri: &Secret, size: u64) -> Result<Secret> {
    let code = fast_qr::QRBuilder::new(uri.expose()).build();
    let code = code.map_err(|_| Error::invalid_argument("label", "is too long for a QR code"))?;
    let svg = Zeroizing::new(SvgBuilder::default().shape(Shape::Square).to_str(&code));
    let sized = format!("<svg width=\"{size}\" height=\"{size}\" ");
    let svg = Zeroizing::new(svg.replacen("<svg ", &sized, 1));
    let text = base64::engine::general_purpose::STANDARD.encode(svg.as_bytes());
    Ok(Secret::new(format!("data:image/svg+xml;base64,{text}")))
}
