//! The name and the icon of the app on phones, which are Seconder's unless the operator has others.

use crate::invalid;
use seconder::Result;
use seconder::engine::approver::misleads;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The name in the files.
const NAME: &str = "Seconder";
/// The longest name, in characters. Home screens show about twelve.
const LONGEST_NAME: usize = 30;
/// The width and the height of an icon, in pixels: browsers install no app with a smaller one.
const SIDE: u32 = 512;
/// Each phone fetches the icon before it shows the first page.
const LARGEST_ICON: usize = 128 * 1024;
const ICON: &str = "assets/icon-512.png";
/// The icons of other sizes, for which browsers scale an icon of the operator.
const OTHER_ICONS: [&str; 3] = ["assets/icon.svg", "assets/icon-180.png", "assets/icon-192.png"];

/// The name and the icon of the approver, as the Home Screen of a phone, its pages and its notifications show them.
#[derive(Clone, Debug, Default)]
pub struct Brand {
    name: Option<String>,
    icon: Option<Vec<u8>>,
}

impl Brand {
    /// Returns a brand. Without a name or an icon, it has Seconder's.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if the name is empty, has more than 30 characters or
    /// ones that cannot be seen; or if the icon is no PNG picture of 512 by 512 pixels, or has more than 128 KiB.
    pub fn new(name: Option<String>, icon: Option<Vec<u8>>) -> Result<Brand> {
        let is_shown = |name: &String| {
            let length = name.chars().count();
            !name.trim().is_empty() && length <= LONGEST_NAME && !name.chars().any(misleads)
        };
        if name.as_ref().is_some_and(|name| !is_shown(name)) {
            let reason = format!("must have 1 to {LONGEST_NAME} characters that can be seen");
            return Err(invalid("approver-name", reason));
        }
        if let Some(icon) = &icon {
            if side(icon) != Some((SIDE, SIDE)) {
                let reason = format!("must be a PNG picture of {SIDE} by {SIDE} pixels");
                return Err(invalid("approver-icon", reason));
            }
            if icon.len() > LARGEST_ICON {
                let reason = format!("must have at most {} KiB", LARGEST_ICON / 1024);
                return Err(invalid("approver-icon", reason));
            }
        }
        Ok(Brand { name, icon })
    }

    /// Returns the content of a file of the approver with this name and icon.
    pub(super) fn applied(&self, file: &str, content: &'static [u8]) -> Cow<'static, [u8]> {
        if let Some(icon) = self.icon.as_ref().filter(|_| file == ICON) {
            return Cow::Owned(icon.clone());
        }
        let text = std::str::from_utf8(content).unwrap_or_default();
        let branded = match file {
            "app.webmanifest" => self.manifest(text),
            "index.html" => Some(self.named(&self.pictured(text), &|name| {
                (format!(">{NAME}<"), format!(">{}<", escaped(name)))
            })),
            "sw.js" => Some(self.named(&self.pictured(text), &|name| {
                (json!(NAME).to_string(), json!(name).to_string())
            })),
            _ => None,
        };
        branded.map_or(Cow::Borrowed(content), |text| Cow::Owned(text.into_bytes()))
    }

    fn manifest(&self, text: &str) -> Option<String> {
        let mut manifest: Value = serde_json::from_str(text).ok()?;
        if let Some(name) = &self.name {
            manifest["name"] = json!(name);
        }
        if self.icon.is_some() {
            manifest["icons"] = json!([{ "src": ICON, "sizes": format!("{SIDE}x{SIDE}") }]);
        }
        Some(manifest.to_string())
    }

    /// Returns a text with the name of this brand, in the form that stands in such a text.
    fn named(&self, text: &str, form: &dyn Fn(&str) -> (String, String)) -> String {
        match &self.name {
            Some(name) => {
                let (from, to) = form(name);
                text.replace(&from, &to)
            }
            None => text.to_owned(),
        }
    }

    /// Returns a text that refers to the icon of this brand in place of Seconder's.
    fn pictured(&self, text: &str) -> String {
        match self.icon {
            Some(_) => {
                OTHER_ICONS.iter().fold(text.to_owned(), |text, other| text.replace(other, ICON))
            }
            None => text.to_owned(),
        }
    }
}

/// Returns the width and the height of a PNG picture, from the chunk that begins each.
fn side(picture: &[u8]) -> Option<(u32, u32)> {
    let rest = picture.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")?;
    let (width, rest) = rest.split_first_chunk::<4>()?;
    let (height, _) = rest.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*width), u32::from_be_bytes(*height)))
}

/// Returns a text as HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32, length: usize) -> Vec<u8> {
        let mut picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        picture.extend(width.to_be_bytes());
        picture.extend(height.to_be_bytes());
        picture.resize(length.max(picture.len()), 0);
        picture
    }

    #[test]
    fn what_cannot_be_shown_is_rejected() {
        for name in ["", "  ", "a\u{202e}b", "a\nb", &"a".repeat(31)] {
            let error = Brand::new(Some(name.to_owned()), None).unwrap_err().to_string();
            assert!(error.contains("approver-name must have 1 to 30 characters"), "{error}");
        }
        let html = b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec();
        for icon in [png(511, 512, 0), png(512, 1024, 0), html, png(512, 512, 0)[..20].to_vec()] {
            let error = Brand::new(None, Some(icon)).unwrap_err().to_string();
            assert!(error.contains("a PNG picture of 512 by 512 pixels"), "{error}");
        }
        let error = Brand::new(None, Some(png(512, 512, LARGEST_ICON + 1))).unwrap_err();
        assert!(error.to_string().contains("at most 128 KiB"), "{error}");
        assert!(Brand::new(Some("é".repeat(30)), Some(png(512, 512, LARGEST_ICON))).is_ok());
    }
}
