//! Reports of a server, and their meaning to an operator.

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::ErrorResponseBody;

/// The reason why a pipeline failed.
#[derive(Debug)]
pub(crate) enum Problem {
    /// The server rejected a statement. The transaction has failed, and the connection is in order.
    Rejected(Report),
    /// The connection can no longer be used.
    Lost(String),
}

/// An error of the server. Its texts are not kept, because they may quote values of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// The five characters of SQLSTATE.
    pub(crate) state: String,
    /// Set if the server ends the connection.
    pub(crate) is_fatal: bool,
}

impl Report {
    pub(super) fn of(body: &ErrorResponseBody) -> Report {
        let (mut state, mut severity) = (String::new(), String::new());
        let mut fields = body.fields();
        while let Ok(Some(field)) = fields.next() {
            let text = || String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'C' => state = text(),
                // The one that is not translated.
                b'V' => severity = text(),
                _ => {}
            }
        }
        let is_fatal = matches!(&*severity, "FATAL" | "PANIC")
            // Versions and relatives of PostgreSQL that do not send it.
            || severity.is_empty() && (state.starts_with("08") || state.starts_with("57P"));
        Report { state, is_fatal }
    }

    pub(crate) fn is(&self, codes: &[&str]) -> bool {
        codes.contains(&self.state.as_str())
    }

    /// Explains the report, and what to do about it.
    pub(crate) fn advice(&self) -> String {
        let known = match &*self.state {
            "28P01" => "the password is not accepted: correct it in the URL or the file",
            "28000" => {
                "the server does not accept this user, this host or this kind of connection: check \
                 its pg_hba.conf and sslmode"
            }
            "3D000" => "there is no such database: create it (createdb), or correct the URL",
            "42501" | "42704" => {
                "the user lacks rights: make it the owner of the schema seconder, or grant it CREATE \
                 on the database once, and all rights on the schema and its tables"
            }
            "25006" => {
                "the server only reads, as a standby does: name the primary in the URL, or both"
            }
            "42P01" | "3F000" | "42703" => {
                "a table or column of the engine is missing: the database was changed by something \
                 else. Restore it from a copy"
            }
            "26000" | "42P05" => {
                "a statement was prepared in another session: a pooler between shares sessions. Set its \
                 pool_mode to session for this database, as for PgBouncer, or connect to the server"
            }
            "53100" => "the server's disk is full",
            "53200" => "the server is out of memory",
            "53300" => "the server has too many connections: raise its max_connections",
            "53400" | "54000" | "54001" => "a limit of the server's configuration was reached",
            "55P03" | "57014" => "the server did not finish in time: check its load and its disk",
            "57P01" | "57P02" => "the server is shutting down",
            "57P03" => "the server is starting up or recovering: wait",
            "57P05" | "25P03" => "the server ended a connection that was idle for too long",
            "40001" | "40P01" => "other nodes changed the same rows again and again",
            "58030" | "XX001" | "XX002" => "the server reports damaged data or a broken disk",
            _ => "",
        };
        match known {
            "" => format!("the server reported the error {}: see its log", self.state),
            known => format!("{known} ({})", self.state),
        }
    }
}
