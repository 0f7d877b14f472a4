//! `seconder operator`: the operators of a service, and their tokens.

use crate::admin::database::Database;
use crate::admin::input::COMMON;
use crate::admin::input::moment::seconds;
use crate::admin::output::print;
use crate::admin::output::table::{Json, print_json, table, utc};
use clap::Subcommand;
use seconder::Result;
use seconder::engine::operator::{
    AddOperator, ListOperators, OperatorEntry, OperatorToken, RemoveOperator, Role,
    RotateOperatorToken,
};
use serde_json::json;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Add an operator to the database, and print a token.
    ///
    /// This is the only time that it is shown, and the database has only a hash of it. With the token, the
    /// operator does what the role allows from any machine that reaches --operator-listen of `seconder serve`,
    /// and the audit has the name with each change.
    Add {
        #[command(flatten)]
        database: Database,
        /// Name of the operator: letters, digits and . _ - @.
        #[arg(value_name = "NAME")]
        name: String,
        /// What the operator may do: read, to look at everything but credentials; support, to unlock and
        /// delete users, cancel approval requests, and replay and cancel messages and callbacks too; or
        /// admin, everything.
        #[arg(long)]
        role: Role,
        /// Application that the token is for, by its id; repeat it for more. With it, the token is not for the service as
        /// a whole: operators, keys, routes and jobs. By default it is for everything.
        #[arg(long, value_name = "ID")]
        only_app: Vec<i64>,
        /// After what time the token expires: a number and s, m, h or d, such as 90d; by default never.
        #[arg(long, value_name = "TIME", value_parser = seconds)]
        expires_in: Option<u64>,
        /// Print a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Print the operators of the database.
    ///
    /// Each has its role, and when the token was last used and expires.
    List {
        #[command(flatten)]
        database: Database,
        /// Print each as a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Give an operator a new token, and print it.
    ///
    /// The one before it ends at once.
    RotateToken {
        #[command(flatten)]
        database: Database,
        /// Name of the operator.
        #[arg(value_name = "NAME")]
        name: String,
        /// After what time the new token expires, such as 90d; by default never.
        #[arg(long, value_name = "TIME", value_parser = seconds)]
        expires_in: Option<u64>,
        /// Print a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Remove an operator, whose token ends at once.
    ///
    /// Nobody is locked out by that: whoever may read the database and its keyring needs no token.
    Remove {
        #[command(flatten)]
        database: Database,
        /// Name of the operator.
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        json: Json,
    },
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Add { database, name, role, only_app, expires_in, json } => {
            let apps = Some(only_app).filter(|apps| !apps.is_empty());
            let add = AddOperator { name, role, apps, expires_in };
            show(&database.existing()?.operate(&add)?, json)
        }
        Command::List { database, json } => {
            let operators = database.existing()?.operate(&ListOperators {})?.operators;
            list(operators, json)
        }
        Command::RotateToken { database, name, expires_in, json } => {
            let rotate = RotateOperatorToken { name, expires_in };
            show(&database.existing()?.operate(&rotate)?, json)
        }
        Command::Remove { database, name, json } => {
            database.existing()?.operate(&RemoveOperator { name: name.clone() })?;
            json.print(&json!({ "name": name }), &format!("operator {name} is removed"))
        }
    }
}

/// Prints the token alone, so that it can be written to a file.
fn show(token: &OperatorToken, json: bool) -> Result<()> {
    match json {
        true => print_json(serde_json::to_string(token)),
        false => print(token.token.expose()),
    }
}

fn list(operators: Vec<OperatorEntry>, json: bool) -> Result<()> {
    if json {
        return operators.iter().try_for_each(|entry| print_json(serde_json::to_string(entry)));
    }
    let row = |entry: OperatorEntry| {
        let expires = match entry.expires {
            Some(_) if entry.expired => "expired".to_owned(),
            Some(at) => utc(at),
            None => "never".to_owned(),
        };
        let used = entry.used.map_or_else(|| "never".to_owned(), utc);
        let apps = entry.apps.map_or_else(
            || "all".to_owned(),
            |ids| ids.iter().map(i64::to_string).collect::<Vec<_>>().join(", "),
        );
        vec![entry.name, entry.role.to_string(), apps, utc(entry.created), used, expires]
    };
    let rows: Vec<_> = operators.into_iter().map(row).collect();
    print(&table(&["NAME", "ROLE", "APPLICATIONS", "CREATED", "USED", "EXPIRES"], &rows))
}
