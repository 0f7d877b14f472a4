//! The peers on SQLite.

use super::{Database, Failure, WRITTEN};
use rusqlite::{Connection, ToSql};

pub(super) struct Peer(Connection);

impl Peer {
    /// Opens a database as the engine does.
    pub(super) fn open(file: &str) -> Result<Peer, Failure> {
        let db = Connection::open(file)?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update(None, "secure_delete", true)?;
        db.execute_batch(
            "CREATE TABLE IF NOT EXISTS written (
                app_id INTEGER NOT NULL, user_id INTEGER NOT NULL, at INTEGER NOT NULL,
                nonce INTEGER NOT NULL, what TEXT NOT NULL,
                PRIMARY KEY (app_id, user_id, at, nonce)
            ) STRICT, WITHOUT ROWID",
        )?;
        Ok(Peer(db))
    }

    fn read(&self, sql: &str, key: &dyn ToSql) -> Result<usize, rusqlite::Error> {
        let mut statement = self.0.prepare_cached(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([key])?;
        let mut seen = 0;
        while let Some(row) = rows.next()? {
            seen += (0..columns).filter(|column| row.get_ref(*column).is_ok()).count();
        }
        Ok(seen)
    }

    fn execute(&self, sql: &str, values: impl rusqlite::Params) -> Result<(), rusqlite::Error> {
        self.0.prepare_cached(sql)?.execute(values).map(drop)
    }

    fn record(&self, user: i64) -> Result<(), rusqlite::Error> {
        self.execute(
            "INSERT INTO written VALUES (1, ?1, 0, abs(random()) % 1000000000000, ?2)",
            (user, WRITTEN),
        )
    }
}

impl Database for Peer {
    fn verify(&mut self, user: i64) -> Result<(), Failure> {
        self.execute("BEGIN IMMEDIATE", [])?;
        self.read("SELECT * FROM users WHERE user_id = ?1", &user)?;
        self.read("SELECT * FROM codes WHERE subject = ?1", &format!("user:{user}"))?;
        self.read("SELECT * FROM factor_states WHERE subject = ?1", &format!("user:{user}"))?;
        self.read("SELECT * FROM authenticators WHERE user_id = ?1", &user)?;
        self.execute("UPDATE authenticators SET used_at = used_at + 1 WHERE user_id = ?1", [user])?;
        self.execute("UPDATE users SET confirmed = 1 WHERE user_id = ?1", [user])?;
        self.execute(
            "UPDATE statistics SET api_calls = api_calls + 1, auths = auths + 1 WHERE app_id = 1",
            [],
        )?;
        self.record(user)?;
        Ok(self.execute("COMMIT", [])?)
    }

    fn write(&mut self, numbers: &[i64]) -> Result<(), Failure> {
        self.execute("BEGIN IMMEDIATE", [])?;
        numbers.iter().try_for_each(|number| self.record(*number))?;
        Ok(self.execute("COMMIT", [])?)
    }
}
