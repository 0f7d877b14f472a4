//! What has expired goes, and what cannot be read does not keep it.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{self, ManualClock, ada, open_at};
use seconder::calls::{Channel, RequestSms, StartPhoneVerification};
use seconder::engine::AuditFilter;
use seconder::engine::operator::Maintain;
use seconder::{Handle, Settings};

const NOW: u64 = 1_000_000;

#[test]
fn old_decisions_go_in_steps() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let url = fresh::url(&folder.path().join("seconder.db"));
    let service = Settings::new(&url).clock(clock.clone()).limits("audit_days=1").open().unwrap();
    let user = ada(&service);
    let _ = service.unlock_user(user).unwrap();
    let engine = service.engine().unwrap();
    let maintain = || engine.maintain(std::time::Duration::from_secs(1)).unwrap();
    let count = || engine.audit(&AuditFilter::default(), None, 1000).unwrap().entries.len();
    clock.set(NOW + 86_399);
    assert!(!maintain());
    assert!(count() > 0);
    clock.set(NOW + 86_400);
    assert!(!maintain());
    assert_eq!(count(), 0);
}

/// A change of the database by somebody else, or a fault of the disk.
fn damage(path: &std::path::Path, sql: &str) {
    assert_eq!(rusqlite::Connection::open(path).unwrap().execute(sql, []).unwrap(), 1);
}

#[test]
fn a_row_that_cannot_be_read_is_reported_and_does_not_keep_others_from_going() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let clock = ManualClock::at(NOW);
    let (service, _) = open_at(&path, &clock);
    let user = ada(&service);
    let call = RequestSms { force: Some(true), ..RequestSms::new(user) };
    let _ = service.handle(&call).unwrap();
    let other = service.create_user("ben@example.com", "555-010-0124", "1").unwrap().user_id;
    let _ = service.handle(&RequestSms { force: Some(true), ..RequestSms::new(other) }).unwrap();
    drop(service);
    damage(&path, &format!("UPDATE codes SET sends = -1 WHERE subject = 'user:{user}'"));
    clock.set(NOW + 86_400);
    let (service, _) = open_at(&path, &clock);
    let maintain = || service.engine().unwrap().maintain(std::time::Duration::from_secs(1));
    let error = maintain().unwrap_err().to_string();
    assert!(error.contains("1 expired rows could not be read"), "{error}");
    drop(service);
    let db = rusqlite::Connection::open(&path).unwrap();
    let left: i64 = db.query_row("SELECT count(*) FROM codes", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}

#[test]
fn an_application_that_cannot_be_read_does_not_keep_what_has_expired() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let clock = ManualClock::at(NOW);
    let (service, _) = open_at(&path, &clock);
    let user = ada(&service);
    let _ = service.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) }).unwrap();
    let others = "name, plan, sms_enabled, white_label, api_key, earlier_key, secret, callback_url, replies, \
                  header_prefix, push_path, id_field, chrome_device, callback_method, callback_ca_file, \
                  callback_private, install_link, offline_days, limits, texts, otp_domain, created_at";
    let insert = "INSERT INTO applications (app_id, token_length, ";
    damage(&path, &format!("{insert}{others}) SELECT 0, 300, {others} FROM applications"));
    clock.set(NOW + 86_400);
    let maintain = || service.engine().unwrap().maintain(std::time::Duration::from_secs(1));
    let _ = maintain().unwrap();
    // Also the decisions of the application that is read after it.
    for days in [500, 501] {
        clock.set(NOW + days * 86_400);
        let _ = maintain().unwrap();
    }
    assert_eq!(
        service.engine().unwrap().audit(&AuditFilter::default(), None, 9).unwrap().entries,
        []
    );
    drop(service);
    let db = rusqlite::Connection::open(&path).unwrap();
    let left: i64 = db.query_row("SELECT count(*) FROM codes", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}

/// How many rows these tables have.
fn rows(path: &std::path::Path, tables: &[&str]) -> Vec<i64> {
    let db = rusqlite::Connection::open(path).unwrap();
    let count = |table| {
        db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    tables.iter().map(count).collect()
}

#[test]
fn what_belongs_to_a_row_that_cannot_be_read_goes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let clock = ManualClock::at(NOW);
    let (service, _) = open_at(&path, &clock);
    let number = "555-010-0123".parse().unwrap();
    let _ = service
        .handle(&StartPhoneVerification::new(Channel::Sms, number, "1".parse().unwrap()))
        .unwrap();
    let wrong = "00000".parse().unwrap();
    assert!(service.check_phone_verification("555-010-0123", "1", &wrong).is_err());
    let names = "lookups WHERE kind = 'verification'";
    assert_eq!(rows(&path, &["verifications", names, "factor_states"]), [1, 1, 1]);
    damage(&path, "UPDATE verifications SET verified = 7");
    clock.set(NOW + 2 * 86_400);
    let maintain = || service.engine().unwrap().maintain(std::time::Duration::from_secs(1));
    assert!(maintain().is_err());
    assert_eq!(rows(&path, &["verifications", names, "factor_states"]), [0, 0, 0]);
    let _ = maintain().unwrap();
}

#[test]
fn rows_whose_key_is_no_text_any_more_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let clock = ManualClock::at(NOW);
    let (service, _) = open_at(&path, &clock);
    let user = ada(&service);
    let _ = service.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) }).unwrap();
    damage(&path, "UPDATE codes SET subject = CAST(x'757365723aff' AS TEXT)");
    clock.set(NOW + 86_400);
    let maintain = || service.engine().unwrap().maintain(std::time::Duration::from_secs(1));
    assert!(maintain().is_err());
    assert_eq!(rows(&path, &["codes"]), [0]);
    let _ = maintain().unwrap();
}

#[test]
fn a_damaged_file_is_reported_with_what_to_do_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let url = fresh::url(&path);
    let service = seconder::open(&url).unwrap();
    assert!(service.operate(&Maintain { full: true }).unwrap().checked);
    drop(service);
    let db = rusqlite::Connection::open(&path).unwrap();
    let page = "SELECT rootpage FROM sqlite_schema WHERE name = 'receipts_due'";
    let page: u32 = db.query_row(page, [], |row| row.get(0)).unwrap();
    let size: u32 = db.pragma_query_value(None, "page_size", |row| row.get(0)).unwrap();
    drop(db);
    // What a disk may do to a page that no login reads.
    let mut bytes = std::fs::read(&path).unwrap();
    let (begin, size) = ((page - 1) as usize * size as usize, size as usize);
    bytes[begin..begin + size].fill(0xFF);
    std::fs::write(&path, &bytes).unwrap();
    let service = seconder::open(&url).unwrap();
    for full in [false, true] {
        let error = service.operate(&Maintain { full }).unwrap_err().to_string();
        assert!(error.contains("is damaged: "), "{error}");
        assert!(error.contains("restore a backup"), "{error}");
    }
    drop(service);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn maintenance_beside_a_long_read_holds_up_no_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let service = seconder::open(&fresh::url(&path)).unwrap();
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM users").unwrap();
    // The reader does not see it, so the log cannot be cut off.
    let user = ada(&service);
    assert!(service.operate(&Maintain { full: false }).unwrap().checked);
    let _ = service.unlock_user(user).unwrap();
    let log = || std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
    assert!(log() > 0);
    reader.execute_batch("COMMIT").unwrap();
    assert!(service.operate(&Maintain { full: false }).unwrap().checked);
    assert_eq!(log(), 0);
}
