//! `seconder forward`: the move of an application from another service.

use crate::admin::database::Database;
use crate::admin::input::COMMON;
use crate::admin::output::print;
use crate::admin::output::table::{Json, print_json, table};
use clap::Subcommand;
use seconder::Result;
use seconder::engine::operator::{ForwardStatus, ReturnUser, TakeUser};
use seconder::model::UserId;
use serde_json::json;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Count forwarded calls, and users there, taken over and returned.
    ///
    /// It also says how many of the calls have failed.
    Status {
        #[command(flatten)]
        database: Database,
        /// Print a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Forward the calls for a user who is here again.
    ///
    /// What is known of the user here stays, and is not used until `seconder forward take`.
    Return {
        #[command(flatten)]
        database: Database,
        /// Id of the user.
        #[arg(long, value_name = "ID")]
        user: UserId,
        #[command(flatten)]
        json: Json,
    },
    /// Take over a user who was returned, or has passed through.
    ///
    /// The number and the e-mail address of the user must have passed through. The user may have an app at the
    /// other service: its codes are not accepted here.
    Take {
        #[command(flatten)]
        database: Database,
        /// Id of the user.
        #[arg(long, value_name = "ID")]
        user: UserId,
        #[command(flatten)]
        json: Json,
    },
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Status { database, json } => status(&database, json),
        Command::Return { database, user, json } => {
            database.existing()?.operate(&ReturnUser { user_id: user })?;
            let text = format!("calls for user {user} are forwarded");
            json.print(&json!({ "user_id": user.get(), "state": "returned" }), &text)
        }
        Command::Take { database, user, json } => {
            database.existing()?.operate(&TakeUser { user_id: user })?;
            let object = json!({ "user_id": user.get(), "state": "taken" });
            json.print(&object, &format!("user {user} is here"))
        }
    }
}

fn status(database: &Database, json: bool) -> Result<()> {
    let status = database.existing()?.operate(&ForwardStatus {})?;
    if json {
        return print_json(serde_json::to_string(&status));
    }
    let counts = [status.calls, status.failed];
    let users = [status.users_there, status.users_taken, status.users_returned];
    let row = counts.into_iter().chain(users).map(|number| number.to_string()).collect();
    print(&table(&["CALLS", "FAILED", "THERE", "TAKEN", "RETURNED"], &[row]))
}
