//! Files of other programs, in the formats that docs/migrate.md describes. Their secrets were made up.

use super::machine::Machine;
use seconder::otp::{Algorithm, Totp};
use seconder::{Handle, Service, Verdict, Verify};
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// The secret of the first app in each file.
const SECRET: &[u8] =
    b"\x35\x6a\x19\x2b\x79\x13\xb0\x4c\x54\x57\x4d\x18\xc2\x8d\x46\xe6\x39\x54\x28\xab";

fn sample(name: &str) -> String {
    format!("{}/tests/moving/samples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Imports a file, and returns what is printed and reported. No secret is.
fn import(machine: &Machine, options: &[&str], file: &str) -> (String, String) {
    let file = sample(file);
    let output = machine.run(&[&["import"][..], options, &[&file]].concat());
    let errors = String::from_utf8(output.stderr).unwrap();
    for secret in ["356a192b", "GVVBSK3Z", "07070707", "000102", "08080808", "53, 106", "12345678"]
    {
        assert!(!errors.contains(secret), "{errors}");
    }
    (String::from_utf8(output.stdout).unwrap().trim_end().to_owned(), errors)
}

/// Checks codes of the next period, which an import cannot take for used ones.
fn logs_in(service: &Service, user: u64, totp: &Totp) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let code = totp.code(now + totp.period()).expose().parse().unwrap();
    let checked = service.handle(&Verify::new(user.try_into().unwrap(), code)).unwrap();
    assert_eq!(checked.verdict, Verdict::Right, "{user}");
}

fn totp(secret: &[u8], algorithm: Algorithm, digits: u8, period: u64) -> Totp {
    Totp::new(secret, algorithm, digits, period).unwrap()
}

fn bytes_0_to_31() -> Vec<u8> {
    (0..32).collect()
}

fn id(service: &Service, login: &str) -> u64 {
    service.find_user(&login.parse().unwrap()).unwrap().user_id.get()
}

#[test]
fn an_export_of_google_authenticator_is_read_for_one_issuer() {
    let machine = Machine::new();
    let format = ["--format", "otpauth", "--user", "ada"];
    let (printed, errors) = import(&machine, &format, "google-authenticator.txt");
    assert_eq!(printed, "created=0 unchanged=0 conflicting=0 bad=1");
    assert!(errors.contains("has apps of 2 issuers: choose the one by --issuer NAME"), "{errors}");
    // Nor do labels say at which service an account is.
    let (printed, errors) = import(&machine, &format[..2], "google-authenticator.txt");
    assert_eq!(printed, "created=0 unchanged=0 conflicting=0 bad=1");
    assert!(errors.contains("has apps of 2 issuers: choose the one by --issuer NAME"), "{errors}");
    let other = [&format[..], &["--issuer", "Bank"]].concat();
    let (_, errors) = import(&machine, &other, "google-authenticator.txt");
    assert!(errors.contains("has no app of this issuer"), "{errors}");
    let format = [&format[..], &["--issuer", "example"]].concat();
    let (printed, errors) = import(&machine, &format, "google-authenticator.txt");
    assert_eq!(printed, "created=1 unchanged=0 conflicting=0 bad=1");
    assert!(errors.contains("line 2: is HOTP, whose codes come from a counter"), "{errors}");
    let service = seconder::open(&machine.url()).unwrap();
    let ada = id(&service, "ada");
    logs_in(&service, ada, &totp(SECRET, Algorithm::Sha1, 6, 30));
    logs_in(&service, ada, &totp(&bytes_0_to_31(), Algorithm::Sha256, 8, 30));
    let (printed, _) = import(&machine, &format, "google-authenticator.txt");
    assert_eq!(printed, "created=0 unchanged=1 conflicting=0 bad=1");
    let labelled = Machine::new();
    let format = ["--format", "otpauth", "--issuer", "Example"];
    let (printed, errors) = import(&labelled, &format, "google-authenticator.txt");
    assert_eq!(printed, "created=1 unchanged=0 conflicting=0 bad=1", "{errors}");
    labelled.ok(&["export", "labelled.jsonl"]);
    assert_eq!(labelled.objects("labelled.jsonl")[0]["email"], "ada@example.com");
    // The hash function is in an export.
    machine.ok(&["export", "--secrets", "out.jsonl"]);
    let apps = &machine.objects("out.jsonl")[0]["authenticators"];
    assert_eq!((&apps[0]["algorithm"], &apps[1]["algorithm"]), (&"SHA1".into(), &"SHA256".into()));
}

#[test]
fn lines_of_uris_name_their_users() {
    let machine = Machine::new();
    let uri = "otpauth://totp/Example:";
    let secret = "secret=GVVBSK3ZCOYEYVCXJUMMFDKG4Y4VIKFL&issuer=Example";
    let counter = "otpauth://hotp/Example:cy?secret=GVVBSK3ZCOYEYVCXJUMMFDKG4Y4VIKFL&counter=1";
    let lines = [
        format!("{uri}ada+1@example.com?{secret}&algorithm=SHA512"),
        format!("{uri}bob?{secret}"),
        counter.to_owned(),
        format!("{uri}?{secret}"),
        format!("{uri}bob?{secret}"),
        "otpauth-migration://offline?data=Cg".to_owned(),
    ];
    machine.write("uris.txt", &lines.join("\n"));
    let import = ["import", "--format", "otpauth", "uris.txt"];
    let (printed, errors) = machine.fails_with(&import);
    assert!(printed.starts_with("created=2 unchanged=0 conflicting=0 bad=3"), "{printed}");
    for expected in ["line 3: is HOTP", "line 4: has a label that names no user", "line 6: is not"]
    {
        assert!(errors.contains(expected), "{errors}");
    }
    assert!(!errors.contains("GVVB"), "{errors}");
    let service = seconder::open(&machine.url()).unwrap();
    machine.ok(&["export", "users.jsonl"]);
    assert_eq!(machine.objects("users.jsonl")[0]["email"], "ada+1@example.com");
    logs_in(&service, 1, &totp(SECRET, Algorithm::Sha512, 6, 30));
    // The same as fields of lines, also as one of several apps.
    let other = Machine::new();
    let [first, second] = [&lines[0], &lines[1]];
    let user = serde_json::json!({"login": "dan", "confirmed": true, "authenticators": [second]});
    let eve = serde_json::json!({"login": "eve", "confirmed": true, "otpauth": first});
    let cy = serde_json::json!({"login": "cy", "otpauth": counter});
    let both = serde_json::json!({"login": "fay", "otpauth": first, "digits": 6});
    other.write("users.jsonl", &format!("{user}\n{eve}\n{cy}\n{both}\n"));
    let (printed, errors) = other.fails_with(&["import", "users.jsonl"]);
    assert!(printed.starts_with("created=2 unchanged=0 conflicting=0 bad=2"), "{printed}");
    assert!(errors.contains("line 3: otpauth is HOTP"), "{errors}");
    assert!(errors.contains("line 4: digits must not be there beside otpauth"), "{errors}");
    let service = seconder::open(&other.url()).unwrap();
    logs_in(&service, 1, &totp(SECRET, Algorithm::Sha1, 6, 30));
    logs_in(&service, 2, &totp(SECRET, Algorithm::Sha512, 6, 30));
}

#[test]
fn a_file_of_pam_google_authenticator_is_of_one_user() {
    let machine = Machine::new();
    let format = ["--format", "pam-google-authenticator"];
    let (_, errors) = import(&machine, &format, "google_authenticator");
    assert!(errors.contains("user is missing: the file does not say whose apps"), "{errors}");
    let format = [&format[..], &["--user", "ada"]].concat();
    let (printed, errors) = import(&machine, &format, "google_authenticator");
    assert_eq!(printed, "created=1 unchanged=0 conflicting=0 bad=0", "{errors}");
    let service = seconder::open(&machine.url()).unwrap();
    // The file says which codes were used, so that of now is not.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let code = totp(&SECRET[..16], Algorithm::Sha1, 6, 30).code(now).expose().parse().unwrap();
    assert_eq!(service.verify(1.try_into().unwrap(), &code).unwrap(), Verdict::Right);
    for (option, reason) in [
        ("\" HOTP_COUNTER 1", "is HOTP"),
        ("\" TIME_SKEW 7\n\" TOTP_AUTH", "has a TIME_SKEW"),
        ("\" RATE_LIMIT 3 30", "has no line \" TOTP_AUTH"),
    ] {
        machine.write("other", &format!("GVVBSK3ZCOYEYVCXJUMMFDKG4Y\n{option}\n12345678\n"));
        let import = [&["import"][..], &format, &["other"]].concat();
        let errors = machine.fails(&import);
        assert!(errors.contains(reason) && !errors.contains("GVVB"), "{errors}");
    }
}

/// Runs the recipe of docs/migrate.md in place of a reader, for homes of two users.
#[test]
fn files_of_pam_google_authenticator_are_those_of_the_owners_of_homes() {
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
    let machine = Machine::new();
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root can become another user");
        return;
    }
    let (_, recipe) = include_str!("../../../docs/migrate.md").split_once("for home in").unwrap();
    let recipe = format!("for home in{}", recipe.split_once("```").unwrap().0);
    let recipe = recipe.replace("/home/*", &format!("{}/*", machine.path("home").display()));
    let recipe =
        recipe.replace("seconder import", &format!("seconder import --database {}", machine.url()));
    fs::set_permissions(machine.path(""), PermissionsExt::from_mode(0o755)).unwrap();
    let file = "home/daemon/.google_authenticator";
    for (name, user) in [("daemon", 1), ("bin", 2), ("games", 5)] {
        let home = machine.path("home").join(name);
        fs::create_dir_all(&home).unwrap();
        chown(&home, Some(user), Some(user)).unwrap();
    }
    fs::copy(sample("google_authenticator"), machine.path(file)).unwrap();
    fs::set_permissions(machine.path(file), PermissionsExt::from_mode(0o400)).unwrap();
    chown(machine.path(file), Some(1), Some(1)).unwrap();
    // What a user who has no right to read it can do.
    let others = ["bin", "games"].map(|name| format!("home/{name}/.google_authenticator"));
    fs::hard_link(machine.path(file), machine.path(&others[0])).unwrap();
    symlink(machine.path(file), machine.path(&others[1])).unwrap();
    lchown(machine.path(&others[1]), Some(5), Some(5)).unwrap();
    let output = machine.shell(&recipe);
    let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(printed, "created=1 unchanged=0 conflicting=0 bad=0\n");
    machine.ok(&["export", "users.jsonl"]);
    assert_eq!(machine.objects("users.jsonl")[0]["login"], "daemon");
}

#[test]
fn a_file_of_pam_oath_has_several_users() {
    let machine = Machine::new();
    let (printed, errors) = import(&machine, &["--format", "pam-oath"], "users.oath");
    assert_eq!(printed, "created=2 unchanged=0 conflicting=0 bad=2", "{errors}");
    assert!(errors.contains("line 6: is HOTP, whose codes come from a counter"), "{errors}");
    assert!(errors.contains("line 7: must have a secret in hexadecimal digits"), "{errors}");
    let service = seconder::open(&machine.url()).unwrap();
    let (ada, bob) = (id(&service, "ada"), id(&service, "bob"));
    logs_in(&service, ada, &totp(SECRET, Algorithm::Sha1, 6, 30));
    logs_in(&service, ada, &totp(&[7; 20], Algorithm::Sha1, 6, 30));
    logs_in(&service, bob, &totp(&bytes_0_to_31(), Algorithm::Sha1, 8, 60));
    let (_, errors) = import(&machine, &["--format", "pam-oath", "--user", "ada"], "users.oath");
    assert!(errors.contains("user must not be there: the file names its users"), "{errors}");
}

#[test]
fn an_export_of_freeotp_is_read_for_one_issuer() {
    let machine = Machine::new();
    let format = ["--format", "freeotp", "--user", "ada@example.com", "--issuer", "Example"];
    let (printed, errors) = import(&machine, &format, "freeotp.json");
    assert_eq!(printed, "created=1 unchanged=0 conflicting=0 bad=1", "{errors}");
    assert!(errors.contains("line 3: is HOTP, whose codes come from a counter"), "{errors}");
    let service = seconder::open(&machine.url()).unwrap();
    logs_in(&service, 1, &totp(SECRET, Algorithm::Sha256, 8, 60));
    machine.write("other.json", "{\"tokens\":[{\"type\":\"TOTP\",\"secret\":\"GEZDGNBV\"}]}");
    let import = ["import", "--format", "freeotp", "--user", "bob", "other.json"];
    assert!(machine.fails(&import).contains("line 1: is no app with a type, TOTP"));
}

#[test]
fn an_export_of_privacyidea_has_several_users() {
    let machine = Machine::new();
    let (printed, errors) = import(&machine, &["--format", "privacyidea"], "privacyidea.csv");
    assert_eq!(printed, "created=2 unchanged=0 conflicting=0 bad=2", "{errors}");
    assert!(errors.contains("line 4: is HOTP, whose codes come from a counter"), "{errors}");
    assert!(errors.contains("line 5: belongs to no user of privacyIDEA"), "{errors}");
    let service = seconder::open(&machine.url()).unwrap();
    let ada = id(&service, "ada");
    logs_in(&service, ada, &totp(SECRET, Algorithm::Sha1, 6, 30));
    logs_in(&service, ada, &totp(&[7; 20], Algorithm::Sha1, 8, 60));
    // The file does not name the hash function, so it is an option.
    let other = Machine::new();
    let format = ["--format", "privacyidea", "--algorithm", "SHA256"];
    import(&other, &format, "privacyidea.csv");
    let service = seconder::open(&other.url()).unwrap();
    logs_in(&service, id(&service, "ada"), &totp(SECRET, Algorithm::Sha256, 6, 30));
}

#[test]
fn users_of_several_realms_of_privacyidea_are_not_imported_at_once() {
    let machine = Machine::new();
    let of = |owner, byte: &str| format!("{owner}, TOTP1, {}, totp, 6, 30\n", byte.repeat(20));
    let import = ["import", "--format", "privacyidea", "realms.csv"];
    for other in ["ada@sales", "ada"] {
        machine.write("realms.csv", &[of("ada@lab", "07"), of(other, "08")].concat());
        let (printed, errors) = machine.fails_with(&import);
        assert!(printed.starts_with("created=0 unchanged=0 conflicting=0 bad=1"), "{printed}");
        assert!(errors.contains("has users of 2 realms, who may have the same names"), "{errors}");
        assert!(!errors.contains("0707"), "{errors}");
    }
    machine.write("realms.csv", &of("ada@lab", "07"));
    machine.ok(&import);
    // A user of another realm who has the name is no user of here, and is in conflict.
    machine.write("realms.csv", &of("ada@sales", "08"));
    let (printed, _) = machine.fails_with(&import);
    assert!(printed.starts_with("created=0 unchanged=0 conflicting=1 bad=0"), "{printed}");
}

#[test]
fn options_of_other_programs_are_for_their_files_only() {
    let machine = Machine::new();
    machine.write("users.csv", "login\nada\n");
    let import = ["import", "--user", "ada", "users.csv"];
    assert!(machine.fails(&import).contains("format is not jsonl or csv if there is --user"));
    for user in ["7", ""] {
        let format = ["--format", "pam-google-authenticator", "--user", user];
        let (_, errors) = self::import(&machine, &format, "google_authenticator");
        assert!(errors.contains("user must be a login name, an e-mail address"), "{errors}");
    }
}
