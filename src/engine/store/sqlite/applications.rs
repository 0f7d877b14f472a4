//! Applications and their usage.

use super::{AppChange, AppId, AppRow, Counted};
use crate::engine::clock::Time;
use crate::model::{ApiKey, CallbackUrl, InstallLink, Secret};
use crate::wire::{Generation, Names};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

const COLUMNS: &str = "app_id, name, plan, sms_enabled, white_label, api_key, callback_url, \
                       token_length, replies, header_prefix, push_path, id_field, chrome_device, \
                       callback_ca_file, install_link, offline_days, secret";

pub(super) fn all(db: &Connection) -> Result<Vec<AppRow>> {
    let sql = format!("SELECT {COLUMNS} FROM applications ORDER BY app_id");
    db.prepare_cached(&sql)?.query_map([], row)?.collect()
}

/// Finds the application with this key. The key is looked up by its hash, so that the time taken
/// does not reveal anything about the key.
pub(super) fn of_key(db: &Connection, api_key: &ApiKey) -> Result<Option<AppRow>> {
    let sql = format!("SELECT {COLUMNS} FROM applications WHERE api_key_hash = $1");
    db.prepare_cached(&sql)?.query_row(params![hash(api_key)], row).optional()
}

pub(super) fn add_first(db: &Connection, app: &AppRow, now: Time) -> Result<()> {
    let [header_prefix, push_path, id_field, chrome_device] = app.names.parts();
    db.prepare_cached(
        "INSERT INTO applications (name, plan, sms_enabled, white_label, api_key, api_key_hash, \
         callback_url, token_length, replies, header_prefix, push_path, id_field, chrome_device, \
         callback_ca_file, install_link, offline_days, secret, created_at) \
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18 \
         WHERE NOT EXISTS (SELECT 1 FROM applications)",
    )?
    .execute(params![
        app.name,
        app.plan,
        app.sms_enabled,
        app.white_label,
        app.api_key.expose(),
        hash(&app.api_key),
        app.callback_url.as_ref().map(CallbackUrl::as_str),
        app.token_length,
        app.replies.name(),
        header_prefix,
        push_path,
        id_field,
        chrome_device,
        app.callback_ca_file,
        app.install_link.as_ref().map(InstallLink::as_str),
        app.offline_days,
        *app.secret,
        now.0
    ])?;
    Ok(())
}

pub(super) fn configure(db: &Connection, app: AppId, change: &AppChange) -> Result<()> {
    db.prepare_cached(
        "UPDATE applications SET name = coalesce($1, name), \
         callback_url = nullif(coalesce($2, callback_url), ''), \
         token_length = coalesce($3, token_length), replies = coalesce($4, replies), \
         callback_ca_file = nullif(coalesce($5, callback_ca_file), ''), \
         install_link = nullif(coalesce($6, install_link), ''), \
         offline_days = coalesce($7, offline_days) WHERE app_id = $8",
    )?
    .execute(params![
        change.name,
        change.callback_url.as_ref().map(|url| url.as_ref().map_or("", CallbackUrl::as_str)),
        change.token_length,
        change.replies.map(Generation::name),
        change.callback_ca_file.as_ref().map(|file| file.as_deref().unwrap_or_default()),
        change.install_link.as_ref().map(|link| link.as_ref().map_or("", InstallLink::as_str)),
        change.offline_days,
        app
    ])?;
    Ok(())
}

/// Adds to one of the counters of a month. `counter` is a column name and part of the SQL, so it
/// must never come from a caller.
pub(super) fn count(
    db: &Connection,
    app: AppId,
    month: i64,
    counter: &'static str,
    by: u64,
) -> Result<()> {
    let sql = format!(
        "INSERT INTO statistics (app_id, month, {counter}) VALUES ($1, $2, $3) \
         ON CONFLICT (app_id, month) DO UPDATE SET {counter} = {counter} + excluded.{counter}"
    );
    db.prepare_cached(&sql)?.execute(params![app, month, by as i64])?;
    Ok(())
}

pub(super) fn statistics(db: &Connection, app: AppId, from: i64) -> Result<(Vec<Counted>, u64)> {
    let mut months = db.prepare_cached(
        "SELECT month, api_calls, auths, calls, sms, users FROM statistics \
         WHERE app_id = $1 AND month >= $2 ORDER BY month",
    )?;
    let months = months.query_map(params![app, from], |row| {
        let count = |column| row.get::<_, i64>(column).map(|count| count as u64);
        Ok(Counted {
            month: row.get(0)?,
            api_calls: count(1)?,
            auths: count(2)?,
            calls: count(3)?,
            sms: count(4)?,
            users: count(5)?,
        })
    })?;
    let mut total = db.prepare_cached("SELECT users FROM applications WHERE app_id = $1")?;
    let total: i64 = total.query_row(params![app], |row| row.get(0))?;
    Ok((months.collect::<Result<_>>()?, total as u64))
}

/// Keeps the number of an application's users, which would take too long to count.
pub(super) fn count_user(db: &Connection, app: AppId, by: i64) -> Result<()> {
    db.prepare_cached("UPDATE applications SET users = users + $1 WHERE app_id = $2")?
        .execute(params![by, app])?;
    Ok(())
}

fn hash(api_key: &ApiKey) -> [u8; 32] {
    Sha256::digest(api_key.expose().as_bytes()).into()
}

fn row(row: &Row<'_>) -> Result<AppRow> {
    Ok(AppRow {
        app_id: row.get(0)?,
        name: row.get(1)?,
        plan: row.get(2)?,
        sms_enabled: row.get(3)?,
        white_label: row.get(4)?,
        api_key: ApiKey::stored(Secret::new(row.get::<_, String>(5)?)),
        callback_url: row.get::<_, Option<String>>(6)?.map(CallbackUrl::stored),
        token_length: row.get(7)?,
        replies: generation(&row.get::<_, String>(8)?)?,
        names: Names::stored([row.get(9)?, row.get(10)?, row.get(11)?, row.get(12)?]),
        callback_ca_file: row.get(13)?,
        install_link: row.get::<_, Option<String>>(14)?.map(InstallLink::stored),
        offline_days: row.get(15)?,
        secret: Zeroizing::new(row.get(16)?),
    })
}

fn generation(name: &str) -> Result<Generation> {
    name.parse().map_err(|_| rusqlite::Error::InvalidColumnName(name.to_owned()))
}
