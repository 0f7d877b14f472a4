//! The SQL statements, made from the declarations of the tables. Lists of keys and rows are
//! parameters, one array for each column, so that one statement is for any number of rows.
//!
//! `tests.rs` holds them to the forms that PostgreSQL, Citus, CockroachDB and YugabyteDB share.

use super::buckets::Scope;
use crate::engine::store::table::{Column, Kind, Schema};
use crate::engine::store::tables::TABLES;
use crate::engine::store::which::Page;
use crate::postgres::{List, Statement};
use std::sync::LazyLock;

/// The schema of the database in which the tables are.
pub(super) const SCHEMA: &str = "seconder";

/// The statements of one table.
pub(super) struct Statements {
    pub(super) scope: Scope,
    /// By the number of values that the key begins with; without and with locks.
    pub(super) select: Vec<Statement>,
    pub(super) lock: Vec<Statement>,
    pub(super) due: Option<Statement>,
    pub(super) lock_due: Option<Statement>,
    /// The first rows, and those after a key.
    pub(super) walk: [Statement; 2],
    /// By the number of values that the key begins with.
    pub(super) delete: Vec<Statement>,
    pub(super) insert: Statement,
    pub(super) update: Option<Statement>,
    /// `None` unless all columns after the key are numbers.
    pub(super) add: Option<Statement>,
}

/// The statements of every table, in the order of `TABLES`.
pub(super) static STATEMENTS: LazyLock<Vec<Statements>> =
    LazyLock::new(|| TABLES.iter().map(|table| Statements::of(table)).collect());

/// The statements that are about no table of the engine.
pub(super) struct Common {
    pub(super) begin: Statement,
    pub(super) begin_reading: Statement,
    pub(super) commit: Statement,
    pub(super) soon: Statement,
    pub(super) patient: Statement,
    pub(super) fence: Statement,
    pub(super) begin_batch: Statement,
    pub(super) void_batch: Statement,
    pub(super) find_batch: Statement,
    pub(super) forget_batches: Statement,
}

pub(super) static COMMON: LazyLock<Common> = LazyLock::new(|| {
    let plain = |name: &str, sql: &str| statement(name, sql.to_owned(), Vec::new());
    Common {
        begin: plain("begin", "BEGIN ISOLATION LEVEL READ COMMITTED"),
        begin_reading: plain("begin_reading", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
        commit: plain("commit", "COMMIT"),
        soon: plain("soon", "SET LOCAL lock_timeout = 100"),
        patient: plain("patient", "SET LOCAL statement_timeout = 0"),
        fence: statement(
            "fence",
            format!(
                "SELECT f.fence FROM unnest($1::int8[]) AS k(fence) \
                 JOIN {SCHEMA}.fences AS f ON f.fence = k.fence \
                 ORDER BY f.fence FOR UPDATE OF f"
            ),
            vec![List::Ints],
        ),
        begin_batch: statement(
            "begin_batch",
            format!(
                "INSERT INTO {SCHEMA}.batches (batch_id, is_done) \
                 SELECT k.batch_id, 1 FROM unnest($1::bytea[]) AS k(batch_id)"
            ),
            vec![List::Blobs],
        ),
        void_batch: statement(
            "void_batch",
            format!(
                "INSERT INTO {SCHEMA}.batches (batch_id, is_done) \
                 SELECT k.batch_id, 0 FROM unnest($1::bytea[]) AS k(batch_id)"
            ),
            vec![List::Blobs],
        ),
        find_batch: statement(
            "find_batch",
            format!(
                "SELECT t.is_done FROM unnest($1::bytea[]) AS k(batch_id) \
                 JOIN {SCHEMA}.batches AS t ON t.batch_id = k.batch_id"
            ),
            vec![List::Blobs],
        ),
        forget_batches: statement(
            "forget_batches",
            format!(
                "DELETE FROM {SCHEMA}.batches AS t USING unnest($1::bytea[]) AS k(batch_id) \
                 WHERE t.batch_id = k.batch_id"
            ),
            vec![List::Blobs],
        ),
    }
});

fn statement(name: &str, sql: String, params: Vec<List>) -> Statement {
    Statement { name: name.to_owned(), sql, params }
}

/// Returns the type of a column.
pub(super) fn type_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "int8",
        Kind::Text => "text",
        Kind::Blob => "bytea",
    }
}

pub(super) fn list_of(kind: Kind) -> List {
    match kind {
        Kind::Int => List::Ints,
        Kind::Text => List::Texts,
        Kind::Blob => List::Blobs,
    }
}

fn one_of(kind: Kind) -> List {
    match kind {
        Kind::Int => List::Int,
        Kind::Text => List::Text,
        Kind::Blob => List::Blob,
    }
}

/// A table as PostgreSQL has it: with a bucket before its other columns, if its rows are a user's.
struct Shape {
    table: &'static Schema,
    scope: Scope,
    columns: Vec<Column>,
}

impl Shape {
    /// Returns the columns of the key, or its beginning of so many values.
    fn key(&self, length: usize) -> &[Column] {
        match length {
            0 => &[],
            _ => &self.columns[..length + self.scope.extra()],
        }
    }
}

const BUCKET: Column = Column { name: "bucket", kind: Kind::Int, optional: false, sealed: false };

/// Returns the columns of a table, in order.
pub(super) fn columns(table: &'static Schema) -> Vec<Column> {
    let has_bucket = Scope::of(table).extra() == 1;
    has_bucket.then_some(BUCKET).into_iter().chain(table.columns.iter().copied()).collect()
}

/// `t.a, t.b`
fn listed(prefix: &str, columns: &[Column]) -> String {
    columns.iter().map(|c| format!("{prefix}{}", c.name)).collect::<Vec<_>>().join(", ")
}

/// `unnest($1::int8[], $2::text[]) AS k(a, b)`
fn unnested(columns: &[Column]) -> String {
    let arrays = columns.iter().enumerate();
    let arrays: Vec<_> = arrays
        .map(|(place, column)| format!("${}::{}[]", place + 1, type_of(column.kind)))
        .collect();
    format!("unnest({}) AS k({})", arrays.join(", "), listed("", columns))
}

/// `t.a = k.a AND t.b = k.b`
fn equal(columns: &[Column]) -> String {
    let each = columns.iter().map(|c| format!("t.{0} = k.{0}", c.name));
    each.collect::<Vec<_>>().join(" AND ")
}

fn lists(columns: &[Column]) -> Vec<List> {
    columns.iter().map(|column| list_of(column.kind)).collect()
}

/// Returns the statement for pages of this form. Reading a page locks nothing.
pub(super) fn page(table: &'static Schema, page: &Page) -> Statement {
    let shape = Shape { table, scope: Scope::of(table), columns: columns(table) };
    let (name, own) = (table.name, listed("t.", table.columns));
    let prefix: Vec<Column> = match page.by_due {
        true => page.equal(table).into_iter().map(|at| table.columns[at]).collect(),
        false => shape.key(page.prefix.len()).to_vec(),
    };
    let order: Vec<Column> = page.order(table).iter().map(|at| table.columns[*at]).collect();
    let before = &order[..page.before.len()];
    let equal = prefix.iter().enumerate();
    let equal = equal.map(|(place, column)| format!("t.{} = ${} AND ", column.name, place + 1));
    let equal: String = equal.collect();
    let first = prefix.len() + 1;
    let limit = first + before.len();
    let places: Vec<_> = (first..limit).map(|place| format!("${place}")).collect();
    let descending: Vec<_> = order.iter().map(|c| format!("t.{} DESC", c.name)).collect();
    let sql = format!(
        "SELECT {own} FROM {SCHEMA}.{name} AS t WHERE {equal}({}) < ({}) ORDER BY {} LIMIT ${limit}",
        listed("t.", before),
        places.join(", "),
        descending.join(", ")
    );
    let mut params: Vec<_> = prefix.iter().chain(before).map(|c| one_of(c.kind)).collect();
    params.push(List::Int);
    let kind = match page.by {
        Some(column) => format!("page_{column}"),
        None if page.by_due => "page_due".to_owned(),
        None => "page".to_owned(),
    };
    statement(&shape.name(&format!("{kind}_{}_{}", prefix.len(), before.len())), sql, params)
}

impl Statements {
    fn of(table: &'static Schema) -> Statements {
        let shape = Shape { table, scope: Scope::of(table), columns: columns(table) };
        let each = |make: fn(&Shape, usize) -> Statement| -> Vec<Statement> {
            (0..=table.key).map(|length| make(&shape, length)).collect()
        };
        Statements {
            scope: shape.scope,
            select: each(|shape, length| shape.select(length, false)),
            lock: each(|shape, length| shape.select(length, true)),
            due: table.due.map(|due| shape.due(due, false)),
            lock_due: table.due.map(|due| shape.due(due, true)),
            walk: [shape.walk(false), shape.walk(true)],
            delete: each(Shape::delete),
            insert: shape.insert(),
            update: shape.update(),
            add: shape.add(),
        }
    }
}

impl Shape {
    fn name(&self, what: &str) -> String {
        format!("{}_{what}", self.table.name)
    }

    fn select(&self, length: usize, locks: bool) -> Statement {
        let (name, own) = (self.table.name, listed("t.", self.table.columns));
        let key = self.key(length);
        let from = match key {
            [] => format!("{SCHEMA}.{name} AS t"),
            key => format!("{} JOIN {SCHEMA}.{name} AS t ON {}", unnested(key), equal(key)),
        };
        let order = listed("t.", self.key(self.table.key));
        // Every node locks in this order, so that no two wait for each other.
        let end = if locks { format!(" ORDER BY {order} FOR UPDATE OF t") } else { String::new() };
        let kind = if locks { "lock" } else { "select" };
        let sql = format!("SELECT {own} FROM {from}{end}");
        statement(&self.name(&format!("{kind}_{length}")), sql, lists(key))
    }

    fn due(&self, due: &str, locks: bool) -> Statement {
        let (name, own) = (self.table.name, listed("t.", self.table.columns));
        let (kind, end) = if locks { ("lock_due", " FOR UPDATE SKIP LOCKED") } else { ("due", "") };
        let of = self.table.place(self.table.due_of).map(|place| self.table.columns[place]);
        let equal = of.map_or_else(String::new, |of| format!("t.{} = $1 AND ", of.name));
        let (until, most) = if of.is_some() { (2, 3) } else { (1, 2) };
        let sql = format!(
            "SELECT {own} FROM {SCHEMA}.{name} AS t WHERE {equal}t.{due} <= ${until} \
             ORDER BY t.{due} LIMIT ${most}{end}"
        );
        let mut params: Vec<_> = of.map(|of| one_of(of.kind)).into_iter().collect();
        params.extend([List::Int, List::Int]);
        statement(&self.name(kind), sql, params)
    }

    fn walk(&self, goes_on: bool) -> Statement {
        let (name, own) = (self.table.name, listed("t.", self.table.columns));
        let key = self.key(self.table.key);
        let order = listed("t.", key);
        let (kind, after) = match goes_on {
            false => ("walk_first", String::new()),
            true => {
                let places: Vec<_> = (1..=key.len()).map(|place| format!("${place}")).collect();
                ("walk_on", format!(" WHERE ({order}) > ({})", places.join(", ")))
            }
        };
        let mut params: Vec<List> = match goes_on {
            false => Vec::new(),
            true => key.iter().map(|column| one_of(column.kind)).collect(),
        };
        params.push(List::Int);
        let limit = params.len();
        let sql = format!(
            "SELECT {own} FROM {SCHEMA}.{name} AS t{after} ORDER BY {order} LIMIT ${limit}"
        );
        statement(&self.name(kind), sql, params)
    }

    fn delete(&self, length: usize) -> Statement {
        let (name, key) = (self.table.name, self.key(length));
        let sql = match key {
            [] => format!("DELETE FROM {SCHEMA}.{name} AS t"),
            key => format!(
                "DELETE FROM {SCHEMA}.{name} AS t USING {} WHERE {}",
                unnested(key),
                equal(key)
            ),
        };
        statement(&self.name(&format!("delete_{length}")), sql, lists(key))
    }

    fn inserted(&self) -> String {
        format!(
            "INSERT INTO {SCHEMA}.{} AS t ({}) SELECT {} FROM {}",
            self.table.name,
            listed("", &self.columns),
            listed("k.", &self.columns),
            unnested(&self.columns)
        )
    }

    fn insert(&self) -> Statement {
        statement(&self.name("insert"), self.inserted(), lists(&self.columns))
    }

    /// An update of a missing row would be lost, so the division by zero makes the whole
    /// transaction fail.
    fn update(&self) -> Option<Statement> {
        let key = self.key(self.table.key);
        let rest = &self.columns[key.len()..];
        if rest.is_empty() {
            return None;
        }
        let set = rest.iter().map(|c| format!("{0} = k.{0}", c.name)).collect::<Vec<_>>();
        let mut params = lists(&self.columns);
        params.push(List::Int);
        let sql = format!(
            "WITH changed AS (UPDATE {SCHEMA}.{} AS t SET {} FROM {} WHERE {} RETURNING t.{}) \
             SELECT 1 / (CASE WHEN count(*) = ${} THEN 1 ELSE 0 END) FROM changed",
            self.table.name,
            set.join(", "),
            unnested(&self.columns),
            equal(key),
            key[0].name,
            params.len(),
        );
        Some(statement(&self.name("update"), sql, params))
    }

    fn add(&self) -> Option<Statement> {
        let key = self.key(self.table.key);
        let rest = &self.columns[key.len()..];
        if rest.is_empty() || rest.iter().any(|column| column.kind != Kind::Int) {
            return None;
        }
        let sum = rest.iter().map(|c| format!("{0} = t.{0} + excluded.{0}", c.name));
        let sql = format!(
            "{} ON CONFLICT ({}) DO UPDATE SET {}",
            self.inserted(),
            listed("", key),
            sum.collect::<Vec<_>>().join(", ")
        );
        Some(statement(&self.name("add"), sql, lists(&self.columns)))
    }
}
