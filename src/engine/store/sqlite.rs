//! The store in a SQLite file, or in memory for the sandbox.

mod applications;
mod approvals;
mod codes;
mod factors;
mod group;
#[cfg(target_os = "linux")]
mod held;
#[cfg(not(target_os = "linux"))]
#[path = "sqlite/unheld.rs"]
mod held;
mod logins;
mod offline;
mod open;
#[cfg(test)]
mod plans;
mod process;
mod recovery;
mod remembered;
mod users;
mod verifications;
mod verify;
mod watch;

pub use process::{after_fork, before_fork};

use super::*;
use crate::{Error, Result};
use group::Writer;
use held::Held;
use process::{Owned, Using};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use watch::{Guard, Watch};

/// A database. Writes of several threads share commits; reads use a separate connection, so that
/// they need not wait for a commit.
pub(crate) struct Sqlite {
    /// `None` in memory, where a second connection would open another database. Declared first so
    /// that it is closed first: the last connection to close moves the log into the database, and
    /// so must be able to write.
    reader: Option<Owned>,
    writer: Writer,
    process: u32,
    /// `None` in memory. Declared after the connections, because its locks must outlive them.
    guard: Option<Arc<Guard>>,
}

impl Sqlite {
    /// Opens a database file, and creates it if it is missing or empty, unless it must exist.
    pub(crate) fn open(path: &Path, must_exist: bool) -> Result<Sqlite> {
        let using = Using::begin()?;
        let path = open::locate(path, must_exist)?;
        let id = watch::id_of(&path);
        // Declared before the connections, so that it is dropped after them if one of them fails.
        let mut held = Held::begin(&path)?;
        let writer = open::writer(&path, must_exist)?;
        let reader = open::reader(&path)?;
        let has_log = open::has_log(&writer, &path)?;
        // Without a log, the locks would keep this service itself from writing.
        if has_log {
            held.take(&path)?;
        }
        let watch = Watch::begin(&path, id, has_log)?;
        let guard = Arc::new(Guard::new(watch, held));
        Ok(Sqlite::new(&using, writer, Some((reader, guard))))
    }

    /// A database in memory, which is lost when it is dropped.
    pub(crate) fn in_memory() -> Result<Sqlite> {
        let using = Using::begin()?;
        Ok(Sqlite::new(&using, open::memory()?, None))
    }

    fn new(using: &Using, writer: Connection, of_file: Option<(Connection, Arc<Guard>)>) -> Sqlite {
        let (reader, guard) = of_file.unzip();
        Sqlite {
            reader: reader.map(|reader| using.own(reader)),
            writer: Writer::new(using.own(writer), guard.clone()),
            process: std::process::id(),
            guard,
        }
    }

    /// Begins to use the database. A forked child has to open it again: SQLite's locks do not
    /// survive a fork.
    fn begin(&self) -> Result<Using> {
        match std::process::id() == self.process {
            true => Using::begin(),
            false => Err(Error::storage(
                "the database was opened before this process was forked: open services after the \
                 fork (of a web server: in each worker), or reopen them there",
            )),
        }
    }

    fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let _using = self.begin()?;
        self.writer.write(job)
    }

    /// Reads from one snapshot.
    fn read<T>(&self, job: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let _using = self.begin()?;
        let Some(reader) = &self.reader else { return self.writer.read(job) };
        let connection = reader.lock().map_err(|_| broken())?;
        self.guard.as_ref().map_or(Ok(()), |guard| guard.check())?;
        snapshot(connection.as_ref().ok_or_else(broken)?, job).map_err(failed)
    }
}

fn snapshot<T>(
    connection: &Connection,
    job: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let transaction = connection.unchecked_transaction()?;
    let found = job(&transaction)?;
    transaction.commit()?;
    Ok(found)
}

/// The message of an SQLite error, without the values of any row, which may be secret.
fn failed(error: rusqlite::Error) -> Error {
    let message = match &error {
        rusqlite::Error::SqliteFailure(code, _) => match code.code {
            rusqlite::ErrorCode::DatabaseBusy => {
                "the database is busy: another process has locked it for too long".to_owned()
            }
            rusqlite::ErrorCode::DiskFull => "the disk is full".to_owned(),
            rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase => {
                "the database is damaged: restore it from a copy".to_owned()
            }
            rusqlite::ErrorCode::CannotOpen if let Some(cause) = crate::exhausted::now() => {
                format!("the database cannot be opened: {cause}")
            }
            _ => format!(
                "{code}: check the disk, and the permissions of the database and its folder"
            ),
        },
        _ => "a row has an invalid value: the database is damaged".to_owned(),
    };
    Error::storage(message)
}

fn broken() -> Error {
    Error::Internal { message: "a thread panicked while it used the database".into() }
}

impl Drop for Sqlite {
    /// In a forked child, closing the parent's connections as usual would remove the parent's log.
    /// They are closed in another way, or leaked; the locks stay with the parent.
    fn drop(&mut self) {
        let using = Using::begin();
        if std::process::id() != self.process || using.is_err() {
            if using.is_err() {
                self.writer.forget();
                std::mem::forget(self.reader.take());
            }
            self.writer.forget_guard();
            std::mem::forget(self.guard.take());
            return;
        }
        self.close();
    }
}

impl Sqlite {
    fn close(&mut self) {
        self.writer.write_counts();
        let Some(guard) = &self.guard else { return };
        match guard.check() {
            Ok(()) => guard.release(),
            Err(_) => {
                // A log that is there now belongs to others.
                self.writer.keep_log();
                if let Some(reader) = &self.reader
                    && let Ok(Some(reader)) = reader.lock().as_deref()
                {
                    keep_log(reader);
                }
            }
        }
        self.reader = None;
        self.writer.close();
        self.guard = None;
    }
}

/// Makes a connection leave the log alone when it is closed.
fn keep_log(connection: &Connection) {
    use rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    // This can only fail for a setting that SQLite does not know.
    let _ = connection.set_db_config(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
}

impl Store for Sqlite {
    fn applications(&self) -> Result<Vec<AppRow>> {
        self.read(applications::all)
    }

    fn application_of_key(&self, api_key: &ApiKey) -> Result<Option<AppRow>> {
        self.read(|db| applications::of_key(db, api_key))
    }

    fn add_first_application(&self, app: AppRow, now: Time) -> Result<()> {
        self.write(move |db| applications::add_first(db, &app, now))
    }

    fn configure_application(&self, app: AppId, change: AppChange) -> Result<()> {
        self.write(move |db| applications::configure(db, app, &change))
    }

    fn clear(&self) -> Result<()> {
        self.write(users::clear)
    }

    fn count_call(&self, app: AppId, now: Time) {
        if let Ok(_using) = self.begin() {
            self.writer.count_call(app, now.month());
        }
    }

    fn statistics(&self, app: AppId, from: i64) -> Result<(Vec<Counted>, u64)> {
        self.write(move |db| applications::statistics(db, app, from))
    }

    fn enrol_user(&self, user: EnrolUser) -> Result<EnrolledUser> {
        self.write(move |db| users::enrol(db, &user))
    }

    fn finish_welcome(&self, app: AppId, job: i64, sent: bool, now: Time) -> Result<()> {
        self.write(move |db| users::finish_welcome(db, app, job, sent, now))
    }

    fn user(&self, app: AppId, user_id: UserId) -> Result<Option<UserRow>> {
        self.read(|db| users::find(db, app, user_id))
    }

    fn delete_user(&self, app: AppId, user_id: UserId) -> Result<bool> {
        self.write(move |db| users::delete(db, app, user_id))
    }

    fn user_of_login(&self, app: AppId, login: &LoginName) -> Result<Option<(UserRow, u64)>> {
        self.read(|db| logins::find(db, app, login))
    }

    fn set_login(&self, change: SetLoginName) -> Result<LoginSet> {
        self.write(move |db| logins::set(db, &change))
    }

    fn remove_login(&self, app: AppId, login: LoginName) -> Result<bool> {
        self.write(move |db| logins::remove(db, app, &login))
    }

    fn replace_recovery_codes(&self, codes: NewRecoveryCodes) -> Result<bool> {
        self.write(move |db| recovery::replace(db, &codes))
    }

    fn recovery_codes(&self, user_id: UserId) -> Result<(Vec<RecoveryCodeRow>, WrongAnswers)> {
        self.read(|db| recovery::codes(db, user_id))
    }

    fn authenticator_used_at(&self, user_id: UserId) -> Result<Option<Time>> {
        self.read(|db| recovery::authenticator_used_at(db, user_id))
    }

    fn remember(&self, browser: NewBrowser) -> Result<bool> {
        self.write(move |db| remembered::add(db, &browser))
    }

    fn is_remembered(&self, browser: BrowserKey, now: Time) -> Result<bool> {
        match self.read(|db| remembered::find(db, &browser, now))? {
            Some(remembered) => Ok(remembered),
            None => self.write(move |db| remembered::forget(db, &browser, now)).map(|()| false),
        }
    }

    fn forget(&self, browser: BrowserKey, now: Time) -> Result<()> {
        self.write(move |db| remembered::forget(db, &browser, now))
    }

    fn forget_all(&self, app: AppId, user_id: UserId, now: Time) -> Result<bool> {
        self.write(move |db| remembered::forget_all(db, app, user_id, now))
    }

    fn confirm_user(&self, app: AppId, user_id: UserId, now: Time) -> Result<Option<Time>> {
        self.write(move |db| users::confirm(db, app, user_id, now))
    }

    fn add_activity(&self, activity: Activity) -> Result<bool> {
        self.write(move |db| users::add_activity(db, &activity))
    }

    fn prepare_offline(&self, preparation: OfflinePreparation) -> Result<bool> {
        self.write(move |db| offline::prepare(db, &preparation))
    }

    fn report_offline(&self, report: OfflineReport) -> Result<Reported> {
        self.write(move |db| offline::report(db, &report))
    }

    fn add_device(&self, device: NewDevice) -> Result<Option<DeviceId>> {
        self.write(move |db| factors::add_device(db, &device))
    }

    fn device(&self, app: AppId, device: DeviceId) -> Result<Option<DeviceRow>> {
        self.read(|db| factors::device(db, app, device))
    }

    fn add_authenticator(&self, authenticator: NewAuthenticator) -> Result<bool> {
        self.write(move |db| factors::add_authenticator(db, &authenticator))
    }

    fn factors(&self, app: AppId, user_id: UserId) -> Result<Option<(UserRow, FactorRows)>> {
        self.read(|db| factors::find(db, app, user_id))
    }

    fn remove_authenticator(&self, app: AppId, user_id: UserId, id: i64) -> Result<Removed> {
        self.write(move |db| factors::remove_authenticator(db, app, user_id, id))
    }

    fn remove_device(&self, app: AppId, user_id: UserId, device: DeviceId) -> Result<Removed> {
        self.write(move |db| factors::remove_device(db, app, user_id, device))
    }

    fn issue_code(&self, issue: IssueCode) -> Result<Issued> {
        self.write(move |db| codes::issue(db, &issue))
    }

    fn verification(&self, key: VerificationKey, now: Time) -> Result<Option<Verification>> {
        self.read(|db| verifications::find(db, &key, now))
    }

    fn finish_delivery(&self, job: i64, done: bool) -> Result<()> {
        self.write(move |db| codes::finish_delivery(db, job, done))
    }

    fn begin_verify(&self, subject: Subject) -> Result<Option<VerifyState>> {
        self.read(|db| verify::begin(db, &subject))
    }

    fn commit_verify(&self, attempt: Attempt) -> Result<Committed> {
        self.write(move |db| verify::commit(db, &attempt))
    }

    fn add_approval(&self, approval: NewApproval) -> Result<AddApproval> {
        self.write(move |db| approvals::add(db, &approval))
    }

    fn approval(&self, app: AppId, uuid: ApprovalId, now: Time) -> Result<Option<ApprovalRow>> {
        let found = self.read(|db| approvals::find(db, app, &uuid))?;
        match found {
            Some(row) if row.is_past_its_end(now) => self.write(move |db| {
                approvals::expire(db, row.user_id, now)?;
                approvals::find(db, app, &uuid)
            }),
            found => Ok(found),
        }
    }

    fn open_approvals(&self, user_id: UserId, now: Time) -> Result<Vec<ApprovalRow>> {
        let mut open = self.read(|db| approvals::pending(db, user_id))?;
        let pending = open.len();
        open.retain(|row| !row.is_past_its_end(now));
        if open.len() < pending {
            self.write(move |db| approvals::expire(db, user_id, now))?;
        }
        Ok(open)
    }

    fn decide_approval(&self, decision: Decision) -> Result<Decided> {
        self.write(move |db| approvals::decide(db, &decision))
    }

    fn finish_callback(&self, job: i64, error: Option<String>) -> Result<()> {
        self.write(move |db| approvals::finish_callback(db, job, error.as_deref()))
    }
}
