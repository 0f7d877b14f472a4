//! The command that changes the phone number of a user.

use super::who::Who;
use crate::admin::database::target::Target;
use crate::admin::input::secret::secret_at;
use crate::admin::output::table::Json;
use clap::Args;
use seconder::calls::SetNumber;
use seconder::engine::operator::SetUserNumber;
use seconder::model::{CountryCode, PhoneNumber, VerificationCode};
use seconder::{Handle, Result};
use serde_json::json;
use std::path::PathBuf;

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Proof {
    /// File with the code of a verification that was sent to the new number; - is standard input.
    #[arg(long, value_name = "FILE")]
    code_file: Option<PathBuf>,
    /// Change it without a code: you know that the number is the user's.
    #[arg(long, conflicts_with = "service")]
    unverified: bool,
}

pub(super) fn set(
    target: &Target,
    who: &Who,
    (phone_number, country_code): (PhoneNumber, CountryCode),
    Proof { code_file, unverified }: Proof,
    json: Json,
) -> Result<()> {
    // Not an option, because every user of the machine sees the options of a process.
    let code = code_file.map(|file| secret_at("code-file", &file)).transpose()?;
    let code = code.map(|code| code.expose().parse::<VerificationCode>()).transpose()?;
    let (service, user_id) = who.of(target)?;
    match code {
        Some(code) if !target.is_operated() => {
            let call = SetNumber::new(user_id, phone_number, country_code, code);
            let _ = service.handle(&call)?;
        }
        verification_code => {
            service.operate(&SetUserNumber {
                user_id,
                phone_number,
                country_code,
                verification_code,
                unverified,
            })?;
        }
    }
    json.print(&json!({ "user_id": user_id.get() }), &format!("user {user_id} has a new number"))
}
