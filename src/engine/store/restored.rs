//! Invalidates what may have been used after a backup was made, when a database was restored, in
//! every store.

use crate::engine::model::clock::Time;

/// Returns the statements that spend everything that may have been used or revoked since the copy was made, and that
/// can be known to be so:
///
/// - the steps of every authenticator app up to this time, or the latest that the database knows if that is later, and
///   the next one, which is accepted early; an app without any accepted code may have been confirmed since, so its
///   enrolment ends;
/// - the codes by SMS and voice, and the messages that were to bring them;
/// - the approval requests that are open;
/// - the browsers that are remembered: some may have been forgotten since;
/// - the tokens of operators: some may have been replaced since. Anyone who can open the database can add them again.
///
/// They keep to the SQL that the stores share; `schema` is the prefix of the names of tables. Each reads a whole table,
/// so they belong in no call.
pub(super) fn statements(now: Time, schema: &str) -> Vec<String> {
    let millis = now.0;
    // The clock may have been set back, or not have been set yet. Its time at the last noted decision
    // is known: the time by which the engine judges waits may be far ahead of it.
    let latest = format!(
        "(SELECT max(shown.at) FROM (SELECT {millis} AS at UNION ALL SELECT last.noted_at FROM \
         (SELECT noted_at FROM {schema}audit ORDER BY steady_at DESC LIMIT 1) AS last) AS shown)"
    );
    let step = format!("({latest} / 1000 / period + 1)");
    vec![
        // Of apps that were enrolled when the copy was made, another may be in use by now. A device of the approver
        // has the same secret as then.
        format!("DELETE FROM {schema}authenticators WHERE last_step IS NULL AND device_id IS NULL"),
        // A code of a step that is spent, but was not accepted, prepares no logins either.
        format!(
            "UPDATE {schema}authenticators SET last_step = {step}, prepared_step = {step} \
             WHERE period > 0 AND (last_step IS NULL OR last_step < {step})"
        ),
        format!("UPDATE {schema}invitations SET device_id = 0 WHERE device_id IS NULL"),
        format!("UPDATE {schema}codes SET spent = 1"),
        format!("DELETE FROM {schema}jobs WHERE kind <> 'callback'"),
        format!(
            "UPDATE {schema}approvals SET status = 'expired', updated_at = {millis}, processed_at = {millis} \
             WHERE status = 'pending'"
        ),
        format!("DELETE FROM {schema}open_approvals"),
        format!("DELETE FROM {schema}browsers"),
        format!("DELETE FROM {schema}operators"),
    ]
}
