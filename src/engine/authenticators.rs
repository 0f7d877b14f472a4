//! Authenticator apps: generating a secret, and the QR code that carries it into the app.

use super::store::NewAuthenticator;
use super::{Engine, limits, rejections};
use crate::calls::{AuthenticatorEnrolled, EnrolAuthenticator};
use crate::model::Secret;
use crate::otp::{Algorithm, Totp};
use crate::{Error, Handle, Result};
use base64::Engine as _;
use fast_qr::convert::{Builder, Shape, svg::SvgBuilder};
use zeroize::Zeroizing;

/// The default width and height of a QR code, in pixels.
const QR_SIZE: u64 = 300;

impl Handle<EnrolAuthenticator> for Engine {
    fn handle(&self, call: &EnrolAuthenticator) -> Result<AuthenticatorEnrolled> {
        let now = self.begin();
        let user = self.user(call.user_id)?;
        let label = match &call.label {
            Some(label) => label.as_str().to_owned(),
            None => user.email,
        };
        let mut secret = Zeroizing::new(vec![0; limits::SECRET_LENGTH]);
        self.shared.random.fill(&mut secret)?;
        let (digits, period) = self.shared.authenticator;
        let uri = Totp::new(&secret, Algorithm::Sha1, digits, period)?.uri(&self.app.name, &label);
        let picture = picture(&uri, call.qr_size.unwrap_or(QR_SIZE))?;
        let (app, user_id) = (self.app.app_id, call.user_id);
        let new = NewAuthenticator { app, user_id, secret, digits, period, now };
        if !self.store().add_authenticator(new)? {
            return Err(rejections::user_not_found());
        }
        let mut enrolled = AuthenticatorEnrolled::new(uri, picture);
        enrolled.label = Some(label);
        enrolled.issuer = Some(self.app.name.clone());
        Ok(enrolled)
    }
}

/// The URI as a QR code, in an SVG that can be the source of an `<img>`.
fn picture(uri: &Secret, size: u64) -> Result<Secret> {
    let code = fast_qr::QRBuilder::new(uri.expose()).build();
    let code = code.map_err(|_| Error::invalid_argument("label", "is too long for a QR code"))?;
    let svg = Zeroizing::new(SvgBuilder::default().shape(Shape::Square).to_str(&code));
    let sized = format!("<svg width=\"{size}\" height=\"{size}\" ");
    let svg = Zeroizing::new(svg.replacen("<svg ", &sized, 1));
    let text = base64::engine::general_purpose::STANDARD.encode(svg.as_bytes());
    Ok(Secret::new(format!("data:image/svg+xml;base64,{text}")))
}
