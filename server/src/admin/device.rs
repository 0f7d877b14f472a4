//! `seconder device`: a device that is this program.

use crate::admin::input::secret::{secret_file, secret_from};
use crate::admin::input::{COMMON, prompt};
use crate::admin::output::print;
use crate::admin::output::table::{Json, print_json, table, utc};
use crate::invalid;
use clap::{Args, Subcommand};
use seconder::engine::ApprovalResponse;
use seconder::engine::approver::misleads;
use seconder::files::create_private;
use seconder::model::{ApprovalId, Secret};
use seconder::{Error, Result};
use seconder_server::{ApproverDevice, PendingRequest};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Register this program as a device by the link of an invitation.
    ///
    /// The link is read from standard input. The key of the device is written to a new file, which only its
    /// owner can read.
    Register {
        #[command(flatten)]
        this: This,
        /// What the user's other devices call it.
        #[arg(long, default_value = "seconder device")]
        name: String,
        /// PEM file with the authorities or the certificate to trust, instead of the system's.
        #[arg(long, value_name = "FILE")]
        ca_file: Option<PathBuf>,
        /// File with the link, instead of standard input.
        #[arg(long, value_name = "FILE")]
        link_file: Option<PathBuf>,
        #[command(flatten)]
        json: Json,
    },
    /// Print the approval requests for this device, the oldest first.
    Pending {
        #[command(flatten)]
        this: This,
        /// Print each request as a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Approve a request.
    ///
    /// Without its UUID, the only one that there is is shown at a terminal, and approved once that is confirmed.
    Approve {
        #[command(flatten)]
        this: This,
        #[command(flatten)]
        which: Which,
        /// The number that the login shows, if it shows one.
        #[arg(long, value_name = "NUMBER")]
        number: Option<String>,
        #[command(flatten)]
        json: Json,
    },
    /// Deny a request.
    Deny {
        #[command(flatten)]
        this: This,
        #[command(flatten)]
        which: Which,
        /// Report that the request was not the user's, too. Further requests are snoozed for 5 minutes.
        #[arg(long)]
        report: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Print the code that this device shows now.
    Code {
        #[command(flatten)]
        this: This,
        #[command(flatten)]
        json: Json,
    },
    /// Remove this device from the service, and then its file.
    Remove {
        #[command(flatten)]
        this: This,
        #[command(flatten)]
        json: Json,
    },
}

#[derive(Args)]
pub(crate) struct This {
    /// File with the key of this device.
    #[arg(long, value_name = "FILE", default_value = "seconder-device.json")]
    device_file: PathBuf,
}

#[derive(Args)]
pub(crate) struct Which {
    /// UUID of the approval request. By default the only one that there is.
    #[arg(value_name = "UUID")]
    uuid: Option<ApprovalId>,
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Register { this, name, ca_file, link_file, json } => {
            let link = secret_from(link_file.as_deref(), "link-file")?;
            register(&this, &link, &name, ca_file.as_deref(), json)
        }
        Command::Pending { this, json } => pending(&this.open()?, json),
        Command::Approve { this, which, number, json } => {
            respond(&this, &which, ApprovalResponse::Approve, number.as_deref(), json)
        }
        Command::Deny { this, which, report, json } => {
            let response = if report { ApprovalResponse::Report } else { ApprovalResponse::Deny };
            respond(&this, &which, response, None, json)
        }
        Command::Code { this, json } => {
            let code = this.open()?.code()?;
            json.print(&json!({ "code": code.expose() }), code.expose())
        }
        Command::Remove { this, json } => remove(&this, json),
    }
}

impl This {
    fn open(&self) -> Result<ApproverDevice> {
        ApproverDevice::read(&secret_file("device-file", &self.device_file)?)
    }
}

fn register(
    this: &This,
    link: &Secret,
    name: &str,
    ca_file: Option<&Path>,
    json: Json,
) -> Result<()> {
    // Before the invitation is used up.
    let file = new_file(&this.device_file)?;
    let registered = ApproverDevice::register(link, name, ca_file);
    let device = registered.inspect_err(|_| drop(std::fs::remove_file(&this.device_file)))?;
    write(file, &device).map_err(|error| {
        let file = this.device_file.display();
        invalid(
            "device-file",
            format!("{file} cannot be written, so the device is of no use: {error}"),
        )
    })?;
    let (application, account) = device.account();
    let object = json!({ "device": device.id(), "application": application, "account": account });
    json.print(&object, &format!("device {} of {account} at {application}", device.id()))
}

/// Creates a file for its owner alone: a key that exists is not replaced.
fn new_file(path: &Path) -> Result<std::fs::File> {
    create_private(path).map_err(|error| {
        invalid("device-file", format!("{} cannot be created: {error}", path.display()))
    })
}

fn write(mut file: std::fs::File, device: &ApproverDevice) -> std::io::Result<()> {
    file.write_all(device.written().expose().as_bytes())?;
    file.sync_all()
}

fn pending(device: &ApproverDevice, as_json: bool) -> Result<()> {
    let open = device.pending()?;
    if as_json {
        return open.iter().try_for_each(|request| {
            let mut object = json!(request);
            object["shown"] = shown(request);
            print_json(serde_json::to_string(&object))
        });
    }
    let row = |request: &PendingRequest| {
        let [application, message, details] = texts(request);
        let number = match request.number_digits {
            0 => "none".to_owned(),
            digits => format!("{digits} digits"),
        };
        vec![request.uuid.to_string(), application, message, details, number, expires(request)]
    };
    let rows: Vec<_> = open.iter().map(row).collect();
    print(&table(&["UUID", "APPLICATION", "MESSAGE", "DETAILS", "NUMBER", "EXPIRES"], &rows))
}

/// Returns the application of a request, its message and its details.
fn texts(request: &PendingRequest) -> [String; 3] {
    let shown = shown(request);
    let text = |name: &str| one_line(shown[name].as_str().unwrap_or_default());
    let details = shown["details"].as_array().into_iter().flatten();
    let details = details.map(|pair| {
        let part = |at: usize| one_line(pair[at].as_str().unwrap_or_default());
        // In quotation marks, so that no detail looks like two.
        format!("{:?}: {:?}", part(0), part(1))
    });
    [text("application"), text("message"), details.collect::<Vec<_>>().join(", ")]
}

fn expires(request: &PendingRequest) -> String {
    request.expires.map_or_else(|| "never".to_owned(), utc)
}

/// Returns a request in a few lines.
fn described(request: &PendingRequest) -> String {
    let [application, message, details] = texts(request);
    let details = if details.is_empty() { details } else { format!("\ndetails      {details}") };
    let (uuid, expires) = (&request.uuid, expires(request));
    format!(
        "request      {uuid}\napplication  {application}\nmessage      {message}{details}\nexpires      {expires}"
    )
}

fn shown(request: &PendingRequest) -> Value {
    serde_json::from_str(&request.shown).unwrap_or_default()
}

/// Replaces characters of an application by which a text could control a terminal or look like something else.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if misleads(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn respond(
    this: &This,
    which: &Which,
    response: ApprovalResponse,
    number: Option<&str>,
    json: Json,
) -> Result<()> {
    let device = this.open()?;
    let mut open = device.pending()?;
    let request = match &which.uuid {
        Some(uuid) => open.into_iter().find(|request| request.uuid == *uuid),
        None if open.len() > 1 => {
            let reason =
                "is missing: several requests are open. `seconder device pending` lists them";
            return Err(invalid("UUID", reason.to_owned()));
        }
        None => open.pop(),
    };
    let request =
        request.ok_or_else(|| invalid("UUID", "is that of no open request".to_owned()))?;
    // The only one that is open may have been made by an attacker in this moment.
    let typed = match (&which.uuid, response) {
        (None, ApprovalResponse::Approve) => confirm(&request, number)?,
        _ => None,
    };
    let number = number.or(typed.as_deref());
    if response == ApprovalResponse::Approve && request.number_digits > 0 && number.is_none() {
        let reason = format!("is missing: the login shows one of {} digits", request.number_digits);
        return Err(invalid("number", reason));
    }
    let status = device.respond(&request, response, number)?;
    let object = json!({ "uuid": request.uuid, "status": status, "shown": shown(&request) });
    let text = match (&which.uuid, response) {
        (None, ApprovalResponse::Deny | ApprovalResponse::Report) => {
            format!("{}\n{status}", described(&request))
        }
        _ => status,
    };
    json.print(&object, &text)
}

/// Shows a request to the person at the terminal, who says whether it is to be approved: by the number, if one is
/// needed that was not given, which is returned then.
fn confirm(request: &PendingRequest, number: Option<&str>) -> Result<Option<String>> {
    if !prompt::is_possible() {
        let reason = "is needed where nobody at a terminal can confirm the request. `seconder device pending` lists \
                      what is open";
        return Err(invalid("UUID", reason.to_owned()));
    }
    let digits = request.number_digits;
    let by_number = digits > 0 && number.is_none();
    let question = match by_number {
        true => format!("To approve it, type the number of {digits} digits that the login shows: "),
        false => "Approve it? [y/N] ".to_owned(),
    };
    let typed = prompt::ask(&format!("{}\n{question}", described(request)))?.unwrap_or_default();
    match (typed.trim().to_ascii_lowercase().as_str(), by_number) {
        ("y" | "yes", false) => Ok(None),
        (number, true) if !number.is_empty() => Ok(Some(number.to_owned())),
        _ => Err(invalid("confirmation", "was not given: nothing was approved".to_owned())),
    }
}

fn remove(this: &This, json: Json) -> Result<()> {
    let device = this.open()?;
    match device.remove() {
        Ok(()) => {}
        // Another process has removed it.
        Err(Error::Rejected(rejection)) if rejection.status == 401 => {}
        Err(error) => return Err(error),
    }
    std::fs::remove_file(&this.device_file).map_err(|error| {
        let file = this.device_file.display();
        invalid("device-file", format!("the device was removed, but {file} was not: {error}"))
    })?;
    json.print(&json!({ "device": device.id() }), "removed")
}
