//! The peers on PostgreSQL, by the usual client. The server is on a socket, without TLS. The loop does
//! not count, because all of it would wait for the row that counts.

use super::{Database, Failure, WRITTEN};
use postgres::{Client, NoTls, Statement};

pub(super) struct Peer {
    client: Client,
    user: Statement,
    codes: Statement,
    wrong: Statement,
    apps: Statement,
    update_app: Statement,
    update_user: Statement,
    record: Statement,
}

impl Peer {
    pub(super) fn open(url: &str) -> Result<Peer, Failure> {
        let mut client = Client::connect(url, NoTls)?;
        // Several connections may begin at once.
        let _ = client.batch_execute(
            "CREATE TABLE IF NOT EXISTS written (
                user_id bigint NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp(),
                nonce bigint NOT NULL DEFAULT (random() * 1e15)::bigint, what text NOT NULL,
                PRIMARY KEY (user_id, at, nonce))",
        );
        let whose = "bucket = mod($1::bigint, 4096) AND user_id = $1";
        let mut prepared = |sql: &str| client.prepare(sql);
        Ok(Peer {
            user: prepared(&format!("SELECT * FROM users WHERE {whose} FOR UPDATE"))?,
            codes: prepared(
                "SELECT * FROM codes WHERE bucket = mod($2::bigint, 4096) AND subject = $1",
            )?,
            wrong: prepared(
                "SELECT * FROM factor_states WHERE bucket = mod($2::bigint, 4096) AND subject = $1",
            )?,
            apps: prepared(&format!("SELECT * FROM authenticators WHERE {whose}"))?,
            update_app: prepared(&format!(
                "UPDATE authenticators SET used_at = used_at + 1 WHERE {whose}"
            ))?,
            update_user: prepared(&format!("UPDATE users SET confirmed = 1 WHERE {whose}"))?,
            record: prepared(
                "INSERT INTO written (user_id, what) SELECT unnest($1::bigint[]), $2::text",
            )?,
            client,
        })
    }
}

impl Database for Peer {
    fn verify(&mut self, user: i64) -> Result<(), Failure> {
        let mut all = self.client.transaction()?;
        all.query(&self.user, &[&user])?;
        all.query(&self.codes, &[&format!("user:{user}"), &user])?;
        all.query(&self.wrong, &[&format!("user:{user}"), &user])?;
        all.query(&self.apps, &[&user])?;
        all.execute(&self.update_app, &[&user])?;
        all.execute(&self.update_user, &[&user])?;
        all.execute(&self.record, &[&vec![user], &WRITTEN])?;
        Ok(all.commit()?)
    }

    fn write(&mut self, numbers: &[i64]) -> Result<(), Failure> {
        self.client.execute(&self.record, &[&numbers, &WRITTEN])?;
        Ok(())
    }
}
