//! The values of settings, and the files that they name.

use super::{checked, run};
use crate::certificate_files;
use seconder::keyring::Keyring;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn values_that_are_read_only_when_the_service_starts_are_checked_too() {
    for (line, problem) in [
        ("limit = [\"nonsense\"]", "must be name=value"),
        ("limit = [\"sends=3\", \"tries=4\", \"sends=4\"]", "2:32: limit has sends twice"),
        ("limit = [\"sends=3,tries=4 sends=4\"]", "limit has sends twice"),
        ("limit = {refuse = \"fax\"}", "refuse"),
        ("limit = {countries = []}", "has an empty list"),
        ("callback_url = \"ftp://x y\"", "must be https://host/path without parameters"),
        ("install_link = \"ftp://x\"", "https:"),
        ("offline_days = 99", "99 is not in 0..=7"),
        ("unix_mode = \"999\"", "must be the octal mode"),
        ("allow = [\"zz\"]", "`zz`"),
        ("application_name = [\"a\", \"b\"]", "takes one value, and no list"),
        ("database = \"nonsense\"", "database must be sqlite:/path/file.db or postgres:"),
        ("database = \"sqlite:\"", "database must name a file"),
        ("database = \"postgres://u@h/d?sslmode=x\"", "database has an invalid sslmode"),
        ("database = \"sandbox:?x=1\"", "database must be sandbox:"),
        ("forward = \"ftp://x\"", "must begin with https:"),
        (
            "name_server = [\"192.0.2.1\", \"dns.example\"]",
            "2:29: name_server has the invalid value",
        ),
        ("proxy = \"proxy.example:3128\"", "must look like http://host:port"),
        ("proxy = \"http://a:hidden@proxy.example:3128\"", "must not hold a password"),
        ("push_host = [\"http://x y\"]", "push_host has the invalid value"),
        ("id_field = \"a b\"", "id_field has the invalid value"),
        ("header_prefix = \"::\"", "letters, digits and dashes"),
        ("push_path = \"/../\"", "push_path has the invalid value"),
        ("chrome_device = \"?\"", "chrome_device has the invalid value"),
        ("names = \"\"", "names has the invalid value"),
        ("otp_domain = \"::not a domain\"", "must be a domain such as example.com"),
        ("application_name = \"\"", "application_name has the invalid value"),
        ("unix_owner = \"no such user\"", "unix_owner has the invalid value"),
        ("unix_group = \"no such group\"", "unix_group has the invalid value"),
        ("metrics = [\"127.0.0.1:1\"]", "takes one value, and no list"),
        ("names = true", "must be a text or a number"),
        ("callback_private = \"perhaps\"", "callback_private"),
        ("sms_enabled = \"perhaps\"", "sms_enabled"),
        ("plan = \"\"", "must be 1 to 64 bytes"),
        ("logo = \"http://app.example/logo.png\"", "must be an https:// URL"),
        ("authenticator_digits = 9", "authenticator_digits"),
    ] {
        let (valid, printed) = checked(format!("self_signed = true\n{line}\n"));
        assert!(!valid && printed.contains("s.conf:2:") && printed.contains(problem), "{printed}");
        assert!(!printed.contains("hidden"), "{printed}");
    }
}

#[test]
fn nothing_that_is_valid_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let ring = folder.path().join("ring");
    Keyring::at(&ring).create().unwrap();
    let ring = ring.display();
    for line in [
        &format!("database = \"postgres://anna@h/d?passfile=/p\"\nkeyring = \"{ring}\""),
        "database = \"sandbox:\"",
        "callback_url = \"\"\ninstall_link = \"\"\notp_domain = \"\"\ntexts = \"\"",
        "callback_ca_file = \"\"",
        "push_host = [\"push.example\", \"*.push.example\", \"127.0.0.1:8080\"]",
        "name_server = [\"192.0.2.1\", \"[2001:db8::1]:53\"]\nproxy = \"http://proxy.example:3128\"",
        "names = \"acme\"\nid_field = \"user\"",
        "unix = \"s\"\nunix_owner = \"root\"\nunix_group = \"0\"\nallow = [\"any=login\"]",
    ] {
        let (valid, printed) = checked(format!("self_signed = true\n{line}\n"));
        assert!(valid && printed.ends_with("s.conf is valid\n"), "{line}: {printed}");
    }
}

#[test]
fn the_file_with_the_url_of_a_proxy_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = "self_signed = true\nproxy_file = \"proxy.url\"\n";
    fs::write(folder.join("s.conf"), text).unwrap();
    let check = |text: &str, mode: u32| {
        fs::write(folder.join("proxy.url"), text).unwrap();
        fs::set_permissions(folder.join("proxy.url"), fs::Permissions::from_mode(mode)).unwrap();
        let output = run(folder, &["config", "check", "s.conf"]);
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let right = "http://a:hidden@proxy.example:3128\n";
    assert_eq!(check(right, 0o640), "s.conf is valid\n");
    for (text, mode, problem) in [
        (right, 0o644, "proxy_file proxy.url must not be open to others"),
        ("https://a:hidden@proxy.example\n", 0o600, "proxy_file must look like http://host:port"),
    ] {
        let printed = check(text, mode);
        assert!(printed.contains(&format!("s.conf:2:14: {problem}")), "{printed}");
        assert!(!printed.contains("hidden"), "{printed}");
    }
}

#[test]
fn the_files_that_a_configuration_names_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let check = |text: &str| {
        fs::write(folder.join("s.conf"), text).unwrap();
        let output = run(folder, &["config", "check", "s.conf"]);
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.success(), printed)
    };
    let named = "database = \"sqlite:no-folder/s.db\"
certificate = \"certificate.pem\"
key = \"key.pem\"
texts = \"texts.json\"
callback_ca_file = \"callbacks.pem\"
keyring = \"no-folder/keyring\"
api_key_file = \"api.key\"
forward = \"https://old.example\"
forward_key_file = \"forward.key\"
forward_ca_file = \"forward.pem\"
offline_days = 8
";
    let (valid, printed) = check(named);
    assert!(!valid);
    for problem in [
        "s.conf:1:12: database no-folder/s.db is in a folder that does not exist",
        "s.conf:2:15: certificate certificate.pem cannot be read",
        "s.conf:4:9: texts texts.json cannot be read",
        "s.conf:5:20: callback_ca_file callbacks.pem cannot be read",
        "s.conf:6:11: keyring no-folder/keyring is in a folder that does not exist",
        "s.conf:7:16: api_key_file api.key cannot be read",
        "s.conf:9:20: forward_key_file forward.key cannot be read",
        "s.conf:10:19: forward_ca_file",
        "s.conf:11:16: offline_days",
    ] {
        assert!(printed.contains(problem), "{problem}: {printed}");
    }
    // The service that does not start reports the same.
    let output = run(folder, &["serve", "--config", "s.conf"]);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), printed);
    let pem = certificate_files::write(folder);
    fs::create_dir(folder.join("no-folder")).unwrap();
    fs::write(folder.join("texts.json"), "{\"no language\": 1}").unwrap();
    fs::write(folder.join("callbacks.pem"), &pem).unwrap();
    fs::write(folder.join("forward.pem"), &pem).unwrap();
    fs::write(folder.join("api.key"), "\n").unwrap();
    fs::write(folder.join("forward.key"), "the-key-of-the-other-service\n").unwrap();
    let named = named.replace("offline_days = 8", "");
    fs::write(folder.join("no-folder/keyring"), "nonsense\n").unwrap();
    let (_, printed) = check(&named);
    assert!(printed.contains("s.conf:6:11: keyring "), "{printed}");
    fs::remove_file(folder.join("no-folder/keyring")).unwrap();
    let (valid, printed) = check(&named);
    assert!(!valid && printed.contains("s.conf:4:9: texts "), "{printed}");
    assert!(printed.contains("s.conf:7:16: api_key_file holds no secret"), "{printed}");
    assert_eq!(printed.lines().count(), 3, "{printed}");
    fs::write(folder.join("texts.json"), "{\"en\": {}}").unwrap();
    fs::write(folder.join("api.key"), "the-key\n").unwrap();
    assert_eq!(check(&named), (true, "s.conf is valid\n".to_owned()));
    // A key that is not that of the certificate.
    fs::rename(folder.join("certificate.pem"), folder.join("old.pem")).unwrap();
    certificate_files::write(folder);
    fs::rename(folder.join("old.pem"), folder.join("certificate.pem")).unwrap();
    let (_, printed) = check(&named);
    assert!(printed.contains("s.conf:2:15: certificate cannot be used with the key"), "{printed}");
    fs::write(folder.join("key.pem"), "no key").unwrap();
    let (_, printed) = check(&named);
    assert!(printed.contains("s.conf:3:7: key key.pem holds no private key"), "{printed}");
    // Nothing was created.
    assert_eq!(fs::read_dir(folder.join("no-folder")).unwrap().count(), 0);
}

#[test]
fn a_certificate_that_has_expired_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(2002, 1, 1);
    fs::write(folder.join("old.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    fs::write(folder.join("s.conf"), "certificate = \"old.pem\"\nkey = \"key.pem\"\n").unwrap();
    let output = run(folder, &["config", "check", "s.conf"]);
    let printed = String::from_utf8(output.stderr).unwrap();
    let expired = "s.conf:1:15: certificate old.pem has expired, so clients reject it: renew it";
    assert!(!output.status.success() && printed.contains(expired), "{printed}");
}

#[test]
fn what_systemd_has_to_pass_is_named() {
    let text =
        "self_signed = true\ndatabase = \"postgres://h/d\"\nforward = \"https://old.example\"\n";
    let condition = "is valid for a service to which systemd passes the credential keyring and the credential forward-key";
    let (valid, printed) = checked(text);
    assert!(valid && printed.contains(condition), "{printed}");
    let (valid, printed) = checked(format!("{text}keyring = \"no/keyring\"\n"));
    assert!(
        !valid && printed.contains("s.conf:4:11: keyring no/keyring cannot be read"),
        "{printed}"
    );
}
