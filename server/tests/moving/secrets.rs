//! Secrets that are shorter than those of new apps.

use super::machine::Machine;
use seconder::Verdict;
use seconder::otp::{Algorithm, Totp};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

#[test]
fn secrets_of_80_bits_are_imported_and_counted() {
    let machine = Machine::new();
    let user = |id: u32, secret: &str| {
        let (email, phone) = (format!("{id}@example.com"), format!("+1555010{id}"));
        let app = json!({"secret": secret, "last_step": 1});
        json!({"id": id, "email": email, "phone": phone, "confirmed": true, "authenticators": [app]})
    };
    let users = [
        user(7001, "GEZDGNBVGY3TQOJQ"),
        user(7002, "gezd gnbv gy3t qojq"),
        user(7003, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"),
    ];
    machine.write("users.jsonl", &users.map(|user| format!("{user}\n")).concat());
    for (options, created) in [(vec!["--dry-run"], 3), (vec![], 3), (vec![], 0)] {
        let output = machine.run(&[&["import", "--json", "users.jsonl"], &*options].concat());
        let tally: Value = serde_json::from_slice(&output.stdout).unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{errors}");
        assert_eq!((&tally["created"], &tally["short_secrets"]), (&json!(created), &json!(2)));
        assert!(errors.contains("warning: 2 authenticator apps have secrets of less"), "{errors}");
        assert!(!errors.to_lowercase().contains("gezd"), "{errors}");
    }
    let service = seconder::open(&machine.url()).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let app = Totp::new(b"1234567890", Algorithm::Sha1, 6, 30).unwrap();
    for id in [7001, 7002] {
        let code = app.code(now).expose().parse().unwrap();
        assert_eq!(service.verify(id.try_into().unwrap(), &code).unwrap(), Verdict::Right);
    }
    let new = service.enrol_authenticator(7001.try_into().unwrap()).unwrap();
    assert_eq!(Totp::from_uri(new.uri.expose()).unwrap().secret().len(), 20);
}
