//! What a database loses that was restored from a copy, in every store.

use crate::engine::clock::Time;

/// The statements that spend everything that may have been used or revoked since the copy was made,
/// and that can be known to be so:
///
/// - of every authenticator app, the steps up to this time, and the next one, which is accepted early;
///   an app that no code was accepted of may have been confirmed since, so its enrolment ends;
/// - the codes by SMS and voice, and the messages that were to bring them;
/// - the approval requests that are open;
/// - the browsers that are remembered: some may have been forgotten since.
///
/// They keep to the SQL that the stores share; `schema` is what the names of tables begin with. Each
/// reads a whole table, so they belong in no call.
pub(super) fn statements(now: Time, schema: &str) -> Vec<String> {
    let (seconds, millis) = (now.seconds(), now.0);
    let step = format!("({seconds} / period + 1)");
    vec![
        format!("DELETE FROM {schema}authenticators WHERE last_step IS NULL"),
        // A code of a step that is spent, but was not accepted, prepares no logins either.
        format!(
            "UPDATE {schema}authenticators SET last_step = {step}, prepared_step = {step} \
             WHERE period > 0 AND last_step < {step}"
        ),
        format!("UPDATE {schema}codes SET spent = 1"),
        format!("DELETE FROM {schema}jobs WHERE due_at IS NOT NULL"),
        format!(
            "UPDATE {schema}approvals SET status = 'expired', updated_at = {millis}, processed_at = {millis} \
             WHERE status = 'pending'"
        ),
        format!("DELETE FROM {schema}open_approvals"),
        format!("DELETE FROM {schema}browsers"),
    ]
}
