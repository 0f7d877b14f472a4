//! `seconder approval`: approval requests.

use crate::admin::database::Database;
use crate::admin::database::delivery::CallbackLog;
use crate::admin::input::COMMON;
use crate::admin::input::secret::secret_from;
use crate::admin::output::print;
use crate::admin::output::table::{Json, print_json, table, utc};
use clap::Subcommand;
use seconder::Result;
use seconder::engine::operator::{ApprovalEntry, CancelApproval, ListApprovals, ShowEvidence};
use seconder::engine::{ApprovalResponse, RespondToApproval};
use seconder::model::{ApprovalId, DeviceId, Secret, UserId};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Print the open approval requests of the application.
    ///
    /// Those of the user who was added last come first.
    List {
        #[command(flatten)]
        database: Database,
        /// Only those of this user, by id.
        #[arg(long, value_name = "ID")]
        user: Option<UserId>,
        /// The most requests to print.
        #[arg(long, value_name = "COUNT", default_value = "100")]
        limit: usize,
        /// Print each request as a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// End an open approval request.
    ///
    /// It has expired, and nobody can respond to it any more. There is no callback.
    Cancel {
        #[command(flatten)]
        database: Database,
        /// UUID of the approval request.
        #[arg(value_name = "UUID")]
        uuid: ApprovalId,
        #[command(flatten)]
        json: Json,
    },
    /// Print what a phone has signed when it responded, as JSON.
    ///
    /// It has the text, the signature and the key that verifies it.
    Evidence {
        #[command(flatten)]
        database: Database,
        /// UUID of the approval request.
        #[arg(value_name = "UUID")]
        uuid: ApprovalId,
        #[command(flatten)]
        json: Json,
    },
    /// Respond to an approval request as a device.
    ///
    /// The secret of the device is read from standard input, which keeps it out of process listings.
    Respond {
        #[command(flatten)]
        database: Database,
        /// Id of the device.
        #[arg(long, value_name = "ID")]
        device: DeviceId,
        /// UUID of the approval request.
        #[arg(long)]
        uuid: ApprovalId,
        /// Response to give: approve, deny, or report (not me), which also snoozes further requests
        /// to the user for 5 minutes.
        #[arg(long)]
        response: ApprovalResponse,
        /// The number that the login shows, if it shows one.
        #[arg(long, value_name = "NUMBER")]
        number: Option<String>,
        /// File with the secret of the device, instead of standard input.
        #[arg(long, value_name = "FILE")]
        device_secret_file: Option<PathBuf>,
        #[command(flatten)]
        json: Json,
    },
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::List { database, user, limit, json } => list(&database, user, limit, json),
        Command::Cancel { database, uuid, json } => {
            let cancel = CancelApproval { uuid: uuid.as_str().to_owned() };
            database.existing()?.operate(&cancel)?;
            let object = json!({ "uuid": uuid.as_str(), "status": "expired" });
            json.print(&object, &format!("{uuid} has expired"))
        }
        Command::Evidence { database, uuid, json } => {
            let uuid = uuid.as_str().to_owned();
            let evidence = database.existing()?.operate(&ShowEvidence { uuid })?;
            // JSON in both cases: the evidence is of no use in another form.
            let text = serde_json::to_string_pretty(&evidence).unwrap_or_default();
            json.print(&evidence, &text)
        }
        Command::Respond { database, device, uuid, response, number, device_secret_file, json } => {
            let file = device_secret_file.as_deref();
            respond(&database, (device, file), uuid, (response, number), json)
        }
    }
}

fn list(database: &Database, user: Option<UserId>, limit: usize, json: bool) -> Result<()> {
    let service = database.existing()?;
    let mut found: Vec<ApprovalEntry> = Vec::new();
    let mut after = None;
    while found.len() < limit {
        let most = u32::try_from(limit - found.len()).unwrap_or(u32::MAX).min(1000);
        let page = service.operate(&ListApprovals { user_id: user, after, most: Some(most) })?;
        found.extend(page.approvals);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if json {
        return found.iter().try_for_each(|entry| print_json(serde_json::to_string(entry)));
    }
    let row = |entry: ApprovalEntry| {
        let expires = entry.expires.map_or_else(|| "never".to_owned(), utc);
        // Each request gets a line of its own, independent of the text that the application has sent.
        let message = entry.message.replace(['\n', '\t'], " ");
        vec![entry.uuid, entry.user_id.to_string(), utc(entry.created), expires, message]
    };
    let rows: Vec<_> = found.into_iter().map(row).collect();
    print(&table(&["UUID", "USER", "CREATED", "EXPIRES", "MESSAGE"], &rows))
}

fn respond(
    database: &Database,
    device: (DeviceId, Option<&Path>),
    uuid: ApprovalId,
    response: (ApprovalResponse, Option<String>),
    json: Json,
) -> Result<()> {
    let (device_id, file) = device;
    let service = database.existing_settings()?.events(CallbackLog).open()?;
    let device_secret = secret_from(file, "device-secret-file")?;
    let (response, number) = (response.0, response.1.map(Secret::new));
    let response = RespondToApproval { uuid, device_id, device_secret, response, number };
    let approval = service.require_engine()?.respond_to_approval(&response)?;
    let status = approval.status.name();
    json.print(&json!({ "uuid": response.uuid.as_str(), "status": status }), status)
}
