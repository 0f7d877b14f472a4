//! `seconder key`.

use crate::admin::database::Database;
use crate::admin::output::table::Json;
use crate::invalid;
use seconder::Result;
use seconder::engine::operator::ShowAppKey;
use serde_json::json;

pub(crate) fn run(database: &Database, json: Json) -> Result<()> {
    if database.is_sandbox() {
        let reason = "sandbox: has another key in each process that opens it. Choose the key of \
                      `seconder serve` by --api-key-file, or read the one that it prints at start; \
                      in a program, take it from the service that was opened";
        return Err(invalid("database", reason.to_owned()));
    }
    let key = database.existing()?.operate(&ShowAppKey { app_id: None })?.api_key;
    json.print(&json!({ "api_key": key.expose() }), key.expose())
}
