//! The rows of a transaction. Every statement is made from the declaration of its table.

use super::failure::failed;
use crate::engine::store::backend::{Fault, Rows};
use crate::engine::store::change::{Change, ChangeKind};
use crate::engine::store::sealed::not_sealed;
use crate::engine::store::table::{Kind, Schema, Value};
use crate::engine::store::tables::TABLES;
use crate::engine::store::which::{Key, Page, Which};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ErrorCode, ToSql, params_from_iter};
use std::borrow::Cow;
use std::sync::LazyLock;

/// The statements of one table.
struct Statements {
    /// By the number of values that the key begins with.
    select: Vec<String>,
    delete: Vec<String>,
    due: Option<String>,
    /// From the beginning, and after a key.
    walk: [String; 2],
    insert: String,
    update: String,
    add: String,
}

static STATEMENTS: LazyLock<Vec<Statements>> =
    LazyLock::new(|| TABLES.iter().map(|table| Statements::of(table)).collect());

impl Statements {
    fn of(table: &Schema) -> Statements {
        let name = table.name;
        let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let columns = names.join(", ");
        let places: Vec<String> = (1..=names.len()).map(|place| format!("?{place}")).collect();
        let values = places.join(", ");
        let (key, rest) = names.split_at(table.key);
        let condition = |length: usize| match length {
            0 => String::new(),
            _ => {
                let equal = key[..length].iter().zip(&places);
                let equal: Vec<_> =
                    equal.map(|(name, place)| format!("{name} = {place}")).collect();
                format!(" WHERE {}", equal.join(" AND "))
            }
        };
        let set: Vec<_> = rest.iter().zip(&places[table.key..]).collect();
        let new: Vec<_> = set.iter().map(|(name, place)| format!("{name} = {place}")).collect();
        let sum: Vec<_> =
            set.iter().map(|(name, place)| format!("{name} = {name} + {place}")).collect();
        let walk = |condition: &str, limit: usize| {
            format!(
                "SELECT {columns} FROM {name}{condition} ORDER BY {} LIMIT ?{limit}",
                key.join(", ")
            )
        };
        let after = format!(" WHERE ({}) > ({})", key.join(", "), places[..table.key].join(", "));
        let insert = format!("INSERT INTO {name} ({columns}) VALUES ({values})");
        let lengths = 0..=table.key;
        Statements {
            select: lengths
                .clone()
                .map(|length| {
                    let condition = condition(length);
                    format!("SELECT {columns} FROM {name}{condition} ORDER BY {}", key.join(", "))
                })
                .collect(),
            delete: lengths
                .map(|length| format!("DELETE FROM {name}{}", condition(length)))
                .collect(),
            due: table.due.map(|due| {
                let of = table.due_of.map_or_else(String::new, |of| format!("{of} = ?3 AND "));
                format!(
                    "SELECT {columns} FROM {name} WHERE {of}{due} <= ?1 ORDER BY {due} LIMIT ?2"
                )
            }),
            walk: [walk("", 1), walk(&after, table.key + 1)],
            update: match rest {
                // A row with only a key does not change.
                [] => String::new(),
                _ => format!("UPDATE {name} SET {}{}", new.join(", "), condition(table.key)),
            },
            add: format!(
                "{insert} ON CONFLICT ({}) DO UPDATE SET {}",
                key.join(", "),
                sum.join(", ")
            ),
            insert,
        }
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
            Value::Secret(_) => {
                return Err(rusqlite::Error::ToSqlConversionFailure(not_sealed().into()));
            }
        }))
    }
}

/// A value of a key by which rows are deleted. The bytes of a text that is not UTF-8 are not a blob to
/// SQLite, so they find its row only as a text.
struct OfKey<'a>(&'a Value, Kind);

impl ToSql for OfKey<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            OfKey(Value::Blob(bytes), Kind::Text) => {
                Ok(ToSqlOutput::Borrowed(ValueRef::Text(bytes)))
            }
            OfKey(value, _) => value.to_sql(),
        }
    }
}

/// Returns the statement that reads a page.
fn page_of(table: &Schema, page: &Page) -> String {
    let name = |place: usize| table.columns[place].name;
    let columns: Vec<_> = table.columns.iter().map(|column| column.name).collect();
    let order: Vec<_> = page.order(table).into_iter().map(name).collect();
    let descending: Vec<_> = order.iter().map(|name| format!("{name} DESC")).collect();
    let equal = page.equal(table).into_iter().map(name).zip(1..);
    let mut conditions: Vec<_> = equal.map(|(name, at)| format!("{name} = ?{at}")).collect();
    let first = page.prefix.len() + 1;
    let last = first + page.before.len();
    let places: Vec<_> = (first..last).map(|place| format!("?{place}")).collect();
    let before = order[..page.before.len()].join(", ");
    conditions.push(format!("({before}) < ({})", places.join(", ")));
    format!(
        "SELECT {} FROM {} WHERE {} ORDER BY {} LIMIT ?{last}",
        columns.join(", "),
        table.name,
        conditions.join(" AND "),
        descending.join(", ")
    )
}

/// An open transaction.
pub(super) struct Transaction<'a>(pub(super) &'a Connection);

impl Transaction<'_> {
    /// Returns the statement that reads these rows, and its parameters.
    fn reading(key: &Key) -> (Cow<'static, str>, Cow<'_, [Value]>) {
        let statements = &STATEMENTS[key.table];
        match &key.rows {
            Which::Prefix(prefix) => {
                (Cow::Borrowed(&statements.select[prefix.len()]), prefix.as_slice().into())
            }
            Which::Due(due) => {
                let values = [Value::Int(due.until), Value::Int(due.most.into())];
                let values: Vec<_> = values.into_iter().chain(due.of.clone()).collect();
                (Cow::Borrowed(statements.due.as_deref().unwrap_or_default()), values.into())
            }
            Which::Page(page) => {
                let most = Value::Int(page.most.into());
                let values = page.prefix.iter().chain(&page.before).cloned().chain([most]);
                (page_of(TABLES[key.table], page).into(), values.collect())
            }
            Which::After(key, most) => {
                let mut values = key.clone();
                values.push(Value::Int((*most).into()));
                (Cow::Borrowed(&statements.walk[usize::from(!key.is_empty())]), values.into())
            }
        }
    }

    fn read(&self, keys: &[Key]) -> rusqlite::Result<Vec<Vec<Vec<Value>>>> {
        let mut found = Vec::with_capacity(keys.len());
        let mut last: Option<(Cow<'static, str>, CachedStatement<'_>)> = None;
        for key in keys {
            let (sql, values) = Transaction::reading(key);
            // No rows of this table become due.
            if sql.is_empty() {
                found.push(Vec::new());
                continue;
            }
            // The keys of a batch are sorted by their tables, so most are read by the statement of the one before: it
            // need not be hashed and looked up in the cache for each.
            let statement = match &mut last {
                Some((before, statement)) if *before == sql => statement,
                _ => &mut last.insert((sql.clone(), self.0.prepare_cached(&sql)?)).1,
            };
            found.push(select(statement, &values)?);
        }
        Ok(found)
    }

    fn write(&self, change: &Change) -> rusqlite::Result<usize> {
        let statements = &STATEMENTS[change.table];
        let sql = match change.kind {
            ChangeKind::DeleteAll | ChangeKind::Delete => {
                let columns = TABLES[change.table].columns;
                let key = change.values.iter().zip(columns);
                let key = key.map(|(value, column)| OfKey(value, column.kind));
                let delete = &statements.delete[change.values.len()];
                return self.0.prepare_cached(delete)?.execute(params_from_iter(key));
            }
            ChangeKind::Insert => &statements.insert,
            ChangeKind::Update => &statements.update,
            ChangeKind::Add => &statements.add,
        };
        self.0.prepare_cached(sql)?.execute(params_from_iter(&change.values))
    }
}

fn select(
    statement: &mut CachedStatement<'_>,
    values: &[Value],
) -> rusqlite::Result<Vec<Vec<Value>>> {
    let columns = statement.column_count();
    let mut rows = statement.query(params_from_iter(values))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let mut values = Vec::with_capacity(columns);
        for column in 0..columns {
            values.push(value(row.get_ref(column)?)?);
        }
        found.push(values);
    }
    Ok(found)
}

fn value(value: ValueRef<'_>) -> rusqlite::Result<Value> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Text(bytes) => match value.as_str() {
            Ok(text) => Value::Text(text.to_owned()),
            // No column takes it, so it fails only the decisions that need this row.
            Err(_) => Value::Blob(bytes.to_vec()),
        },
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
        ValueRef::Real(_) => return Err(rusqlite::Error::InvalidQuery),
    })
}

impl Rows for Transaction<'_> {
    fn load(&mut self, keys: &[Key]) -> Result<Vec<Vec<Vec<Value>>>, Fault> {
        self.read(keys).map_err(fault)
    }

    fn apply(&mut self, changes: Vec<Change>) -> Result<(), Fault> {
        changes.iter().try_for_each(|change| self.write(change).map(drop)).map_err(fault)
    }
}

/// Classifies an error: an invalid value of a row, or one that must not be there, fails that row;
/// everything else fails them all.
pub(super) fn fault(error: rusqlite::Error) -> Fault {
    match error.sqlite_error_code() {
        None | Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig) => {
            Fault::OfRow(failed(error))
        }
        _ => Fault::OfStore(failed(error)),
    }
}
