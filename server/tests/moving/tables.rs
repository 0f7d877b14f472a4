//! Users without phone numbers, as other programs export them.

use super::machine::Machine;
use seconder::calls::CreateUser;
use seconder::otp::{Algorithm, Totp};
use seconder::{Handle, Service, Verdict, Verify};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A code of the next period: the import takes those up to now for used ones.
fn next_code(secret: &[u8]) -> String {
    let totp = Totp::new(secret, Algorithm::Sha1, 6, 30).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(30);
    totp.code(now.as_secs()).expose().to_owned()
}

fn logs_in(service: &Service, user: u64, secret: &[u8]) {
    let code = next_code(secret).parse().unwrap();
    let call = Verify { force: true, ..Verify::new(user.try_into().unwrap(), code) };
    assert_eq!(service.handle(&call).unwrap().verdict, Verdict::Right, "{user}");
}

/// The exports that docs/migrate.md describes, with the values that the programs store.
#[test]
fn exports_of_other_programs_are_read_without_phone_numbers() {
    let secret =
        b"\x35\x6a\x19\x2b\x79\x13\xb0\x4c\x54\x57\x4d\x18\xc2\x8d\x46\xe6\x39\x54\x28\xab";
    for (format, export) in [
        // django-otp: the key is hexadecimal, and the label the name of the device.
        (
            "csv",
            "id,email,login,confirmed,secret_hex,digits,period,last_step,label\n\
             7,ada@example.com,ada,t,356a192b7913b04c54574d18c28d46e6395428ab,6,30,,default\n\
             8,,bob,t,,,,,\n",
        ),
        // django-allauth: JSON in a column, of which the query takes the secret.
        (
            "csv",
            "id,email,confirmed,secret\n7,ada@example.com,1,GVVBSK3ZCOYEYVCXJUMMFDKG4Y4VIKFL\n\
             8,bob@example.com,0,\n",
        ),
        // A column of secrets for pyotp.
        (
            "csv",
            "id,email,secret\n7,ada@example.com,GVVBSK3ZCOYEYVCXJUMMFDKG4Y4VIKFL\n8,bob@example.com,\n",
        ),
        // Authy: its ids, and the secrets that it has exported.
        (
            "jsonl",
            "{\"id\":7,\"email\":\"ada@example.com\",\"secret\":\"GVVBSK3ZCOYEYVCXJUMMFDKG4Y4VIKFL\"}\n\
             {\"id\":8,\"email\":\"bob@example.com\",\"phone\":\"5550100123\",\"country_code\":1}\n",
        ),
    ] {
        let machine = Machine::new();
        let file = format!("users.{format}");
        machine.write(&file, export);
        let expected = "created=2 unchanged=0 conflicting=0 bad=0";
        assert_eq!(machine.ok(&["import", "--dry-run", &file]), format!("{expected} dry_run=yes"));
        assert_eq!(machine.ok(&["import", &file]), expected);
        assert_eq!(
            machine.ok(&["import", &file]),
            "created=0 unchanged=2 conflicting=0 bad=0",
            "{export}"
        );
        let service = seconder::open(&machine.url()).unwrap();
        logs_in(&service, 7, secret);
        let ada = CreateUser::without_phone("ada@example.com".parse().unwrap());
        let ada = service.handle(&ada).unwrap();
        assert_eq!((ada.user_id.get(), ada.created), (7, Some(false)));
        // What is exported here is imported again.
        machine.ok(&["export", "--secrets", "out.csv"]);
        let other = Machine::new();
        other.write("out.csv", &machine.read("out.csv"));
        assert_eq!(other.ok(&["import", "out.csv"]), expected);
    }
}

#[test]
fn users_without_ids_are_the_same_when_they_come_again() {
    let machine = Machine::new();
    let ada = "{\"email\":\"ada@example.com\",\"login\":\"ada\",\"secret\":\"GVVBSK3ZCOYEYVCXJUMMFDKG4Y4VIKFL\"}\n";
    let others =
        "{\"login\":\"bob\"}\n{\"phone\":\"+15550100123\",\"email\":\"ada@example.com\"}\n";
    let taken = "{\"email\":\"eve@example.com\",\"login\":\"ada\"}\n";
    machine.write("users.jsonl", &format!("{ada}{others}{ada}{taken}"));
    for dry_run in [true, false] {
        let dry = if dry_run { &["--dry-run"][..] } else { &[] };
        let (printed, errors) =
            machine.fails_with(&[&["import"][..], dry, &["users.jsonl"]].concat());
        assert!(printed.starts_with("created=3 unchanged=1 conflicting=1 bad=0"), "{printed}");
        assert!(errors.contains("line 5: login"), "{errors}");
        assert!(errors.contains("1 users have no phone number, no authenticator app"), "{errors}");
    }
    machine.write("users.jsonl", &format!("{ada}{others}"));
    assert_eq!(machine.ok(&["import", "users.jsonl"]), "created=0 unchanged=3 conflicting=0 bad=0");
    let service = seconder::open(&machine.url()).unwrap();
    let id = |login: &str| service.find_user(&login.parse().unwrap()).unwrap().user_id.get();
    assert_eq!((id("ada"), id("bob")), (1, 2));
    logs_in(
        &service,
        1,
        &seconder::otp::decode_secret("GVVBSK3ZCOYEYVCXJUMMFDKG4Y4VIKFL").unwrap(),
    );
}

#[test]
fn lines_have_ids_in_all_of_a_file_or_in_none() {
    let machine = Machine::new();
    let lines = "{\"email\":\"ada@example.com\"}\n{\"id\":1,\"email\":\"bob@example.com\"}\n";
    machine.write("users.jsonl", lines);
    for dry_run in [&["--dry-run"][..], &[]] {
        let (printed, errors) =
            machine.fails_with(&[&["import"], dry_run, &["users.jsonl"]].concat());
        assert!(printed.starts_with("created=1 unchanged=0 conflicting=0 bad=1"), "{printed}");
        assert!(errors.contains("line 2: id must be in all lines or in none"), "{errors}");
    }
}

#[test]
fn a_file_without_a_column_that_identifies_users_is_rejected() {
    let machine = Machine::new();
    machine.write("users.csv", "id,secret\n7,GVVBSK3ZCOYEYVCXJUMMFDKG4Y4VIKFL\n");
    let refused = machine.fails(&["import", "users.csv"]);
    assert!(refused.contains("lacks the columns phone, email and login"), "{refused}");
}
