//! Checks that the files that a configuration names can be used.

use super::problems::{Place, Problem};
use super::settings::{IN_MEMORY, Setting, reason};
use crate::admin::database::network::check_proxy_file;
use crate::admin::database::{check_folder, check_keyring, database_file, is_on_server};
use crate::admin::input::moment::now;
use crate::admin::input::secret::{credential, private_file, secret_file};
use crate::admin::serve::forwarding::check_forward_ca_file;
use seconder::{Error, Result, Settings};
use seconder_server::Tls;
use std::fs::{self, File};
use std::path::Path;

/// Checks a file.
type Check<'a> = &'a dyn Fn(&Path) -> Result<()>;

/// Returns the errors in the files. Of a setting that is invalid itself, nothing is read. The places of sockets and of
/// the process id are not looked at: systemd creates their folder when it starts the service.
pub(super) fn problems(settings: &[Setting]) -> Vec<Problem> {
    let mut wrong = certificate(settings);
    let on_server = value(settings, "database").is_some_and(|(url, _)| is_on_server(url));
    let readable = |file: &Path| File::open(file).map(drop).map_err(|error| unread(file, &error));
    let checks: [(&str, Check<'_>); 9] = [
        ("keyring", &|file| check_keyring(file, on_server)),
        ("api-key-file", &|file| secret_file("api-key-file", file).map(drop)),
        ("forward-key-file", &|file| secret_file("forward-key-file", file).map(drop)),
        ("forward-ca-file", &check_forward_ca_file),
        ("proxy-file", &check_proxy_file),
        ("callback-ca-file", &readable),
        ("operator-token-file", &|file| private_file("operator-token-file", file).map(drop)),
        ("service-ca-file", &readable),
        ("texts", &texts),
    ];
    wrong.extend(value(settings, "database").and_then(|(url, place)| {
        let file = database_file(url)?;
        let error = check_folder("database", file).err()?;
        Some(Problem::at(place, format!("database {}", reason(error))))
    }));
    for (name, check) in checks {
        let Some((file, place)) = value(settings, name) else { continue };
        if let Err(error) = check(Path::new(file)) {
            let key = name.replace('-', "_");
            wrong.push(Problem::at(place, format!("{key} {}", reason(error))));
        }
    }
    wrong
}

/// Returns the credentials without which a service with these settings does not start, unless they are passed to this
/// process.
pub(super) fn credentials(settings: &[Setting]) -> Vec<&'static str> {
    let is_given = |name: &str| value(settings, name).is_some();
    let on_server = value(settings, "database").is_some_and(|(url, _)| is_on_server(url));
    let needed = [
        ("keyring", on_server && !is_given("keyring")),
        ("forward-key", is_given("forward") && !is_given("forward-key-file")),
    ];
    let missing =
        needed.into_iter().filter(|(name, is_needed)| *is_needed && credential(name).is_none());
    missing.map(|(name, _)| name).collect()
}

/// Returns the text of a setting, unless it is empty, and its position.
fn value<'a>(settings: &'a [Setting], name: &str) -> Option<(&'a str, Place)> {
    let setting = settings.iter().find(|setting| setting.name == name)?;
    let value = setting.values.first()?;
    let text = value.text.as_deref().filter(|text| !text.is_empty());
    text.map(|text| (text, value.place))
}

/// Returns the error that the certificate has expired. A service starts nevertheless: some clients may accept it.
pub(super) fn expired(settings: &[Setting]) -> Option<Problem> {
    let (certificate, place) = value(settings, "certificate")?;
    let (key, _) = value(settings, "key")?;
    let tls = Tls::Files { certificate: certificate.into(), key: key.into() };
    let is_over = tls.expiry().is_ok_and(|ends| ends <= now());
    let reason = format!("certificate {certificate} has expired, so clients reject it: renew it");
    is_over.then(|| Problem::at(place, reason))
}

fn certificate(settings: &[Setting]) -> Vec<Problem> {
    let files = (value(settings, "certificate"), value(settings, "key"));
    let (Some((certificate, place)), Some((key, place_of_key))) = files else { return Vec::new() };
    let tls = Tls::Files { certificate: certificate.into(), key: key.into() };
    match tls.expiry() {
        Ok(_) => Vec::new(),
        Err(error) => {
            let is_key =
                matches!(&error, Error::InvalidArgument { parameter, .. } if parameter == "key");
            let place = if is_key { place_of_key } else { place };
            vec![Problem::at(place, error.to_string())]
        }
    }
}

fn texts(file: &Path) -> Result<()> {
    let texts = fs::read_to_string(file).map_err(|error| unread(file, &error))?;
    Settings::new(IN_MEMORY).texts(texts).check()
}

fn unread(file: &Path, error: &std::io::Error) -> Error {
    crate::invalid("file", format!("{} cannot be read: {error}", file.display()))
}
