//! The tables: their rows, their keys, and the order in which a batch writes them.

use super::declaration::tables;
use super::sealed::Sealed;
use crate::engine::model::clock::Time;
use crate::engine::model::jobs::JobKind;

tables! {
    /// An application. There are few.
    Application in applications, key 1 {
        app_id: i64,
        name: String,
        plan: String,
        sms_enabled: bool,
        white_label: bool,
        api_key: Sealed<String>,
        /// The key before it, which is valid until then; empty if there was no earlier key.
        earlier_key: Sealed<String>,
        earlier_until: Option<Time>,
        /// Signs the tokens of remembered browsers.
        secret: Sealed<[u8; 32]>,
        callback_url: Option<String>,
        token_length: u8,
        replies: String,
        header_prefix: String,
        push_path: String,
        id_field: String,
        chrome_device: String,
        callback_method: String,
        callback_ca_file: Option<String>,
        callback_private: bool,
        install_link: Option<String>,
        offline_days: u8,
        limits: String,
        texts: Option<String>,
        otp_domain: Option<String>,
        created_at: Time,
        force_codes: bool,
        logo: Option<String>,
        authenticator_digits: u8,
        authenticator_period: u64,
        approval_seconds: u64,
    }

    /// A key with which values may be sealed here. A keyring that lacks one of them is of another database, and rejected.
    SealingKey in sealing_keys, key 1 {
        key_id: String,
        added_at: Time,
    }

    /// The last id of a kind that was given. An id is never given again.
    Sequence in sequences, key 1 {
        name: String,
        last: i64,
    }

    /// The owner of a name: for the kinds, see `lookup::Kind`.
    Lookup in lookups, key 3 {
        kind: String,
        app_id: i64,
        name: String,
        id: i64,
    }

    /// A user, listed by application. A missing number is 0 and empty.
    User in users, key 1, due user_id of app_id {
        user_id: u64,
        app_id: i64,
        country_code: u16,
        cellphone: String,
        /// The one that was added last; empty for a user who was imported with a login name alone.
        email: String,
        /// The user's name on machines.
        login: Option<String>,
        confirmed: bool,
        sms_used: bool,
        snoozed_until: Time,
        /// The last id that an authenticator app of this user was given.
        last_authenticator: i64,
        created_at: Time,
        /// The time since which an operator has nothing of this user accepted, and nothing sent.
        locked_at: Option<Time>,
        /// The time of the last change of the number.
        number_changed_at: Option<Time>,
    }

    /// The e-mails of a user that were added before the one in `users`.
    Email in emails, key 2 {
        user_id: u64,
        email: String,
    }

    /// An authenticator app. It is pending while it has no `last_step`.
    Authenticator in authenticators, key 2 {
        user_id: u64,
        authenticator_id: i64,
        label: Option<String>,
        secret: Sealed<Vec<u8>>,
        digits: u8,
        period: u64,
        /// The step of the code that was accepted last.
        last_step: Option<u64>,
        /// The time at which the service accepted a code.
        used_at: Option<Time>,
        /// The step of the code that has prepared logins without the service.
        prepared_step: Option<u64>,
        created_at: Time,
        /// The device of the approver whose codes these are; `None` for an authenticator app.
        device_id: Option<u64>,
        algorithm: String,
    }

    /// Steps whose codes a machine may accept offline. They outlive the app, as a machine may report its logins later.
    OfflineSteps in offline_preparations, key 3 {
        user_id: u64,
        authenticator_id: i64,
        /// Empty for a machine without a name.
        machine: String,
        period: u64,
        first_step: u64,
        /// The first step that is not prepared.
        end_step: u64,
    }

    /// A login that a machine reported.
    OfflineUse in offline_logins, key 4 {
        user_id: u64,
        authenticator_id: i64,
        step: u64,
        machine: String,
    }

    /// A recovery code, as a hash. A set of them has one salt, and cannot be guessed without it.
    RecoveryCode in recovery_codes, key 2 {
        user_id: u64,
        hash: Vec<u8>,
        salt: Sealed<Vec<u8>>,
        spent: bool,
    }

    /// A remembered browser. The hash of the id in its token cannot be turned back into the token.
    Browser in browsers, key 2, due expires_at {
        user_id: u64,
        id_hash: Vec<u8>,
        /// In the order in which they were remembered: several may have one time.
        number: u64,
        created_at: Time,
        expires_at: Time,
    }

    /// A device, with a secret or a public key.
    Device in devices, key 2 {
        user_id: u64,
        device_id: u64,
        os_type: String,
        /// One of the two is empty.
        secret_hash: Vec<u8>,
        public_key: Vec<u8>,
        name: Option<String>,
        language: Option<String>,
        /// Its subscription to push messages, as JSON; empty if it has none.
        push: Sealed<String>,
        registered_at: Time,
        /// The time at which it last responded to an approval request.
        used_at: Option<Time>,
    }

    /// What devices need of the service, in one row: its URL, and the keys of push messages and of invitations.
    Approver in approver, key 1 {
        one: u8,
        public_url: Option<String>,
        push_key: Sealed<Vec<u8>>,
        code_key: Sealed<Vec<u8>>,
    }

    /// The right to register a device, by the hash of a code: see `operations/approver.rs`.
    Invitation in invitations, key 1, due forget_at {
        code_hash: Vec<u8>,
        app_id: i64,
        user_id: u64,
        expires_at: Time,
        forget_at: Time,
        /// The device that was registered by it; 0 if it was spent otherwise.
        device_id: Option<u64>,
        /// True if it was sent to the number that its user had.
        by_sms: bool,
    }

    /// A picture that was fetched for approval requests, or that could not be.
    Logo in logos, key 1, due forget_at {
        url_hash: Vec<u8>,
        /// `None` if there is no such picture.
        media_type: Option<String>,
        content: Vec<u8>,
        forget_at: Time,
    }

    /// An approval request.
    Approval in approvals, key 2 {
        user_id: u64,
        uuid: String,
        app_id: i64,
        message: String,
        details: String,
        hidden_details: String,
        logos: String,
        seconds_to_expire: u64,
        status: String,
        created_at: Time,
        updated_at: Time,
        expires_at: Option<Time>,
        processed_at: Option<Time>,
        device_id: Option<u64>,
        /// The exact text that devices show, and sign the hash of.
        shown: String,
        /// The number that the user has to type on the device; empty if no number is asked for.
        number: Sealed<String>,
        wrong_numbers: u32,
        /// Set if a push service has accepted a message about it.
        notified: bool,
        /// The signed response, as JSON, or nothing. Sealed, so that it cannot be replaced.
        evidence: Sealed<String>,
    }

    /// A pending approval request, found without reading all others, in the order of its number.
    OpenApproval in open_approvals, key 2, due user_id of app_id {
        user_id: u64,
        number: u64,
        uuid: String,
        app_id: i64,
    }

    /// Something that a user or an application did.
    Activity in activities, key 3 {
        user_id: u64,
        created_at: Time,
        nonce: i64,
        kind: String,
        data: String,
        user_ip: Option<String>,
    }

    /// A decision: see `operations/audit.rs`. `user_id` is 0 for decisions without a user.
    Audit in audit, key 3, due steady_at of app_id {
        user_id: u64,
        /// By the time that never goes back, so this is the order of decisions.
        steady_at: Time,
        /// Distinguishes decisions of one millisecond.
        nonce: i64,
        app_id: i64,
        /// The time that the clock showed.
        noted_at: Time,
        call: String,
        verdict: String,
        reason: Option<String>,
        factor: Option<String>,
        /// Masked.
        number: Option<String>,
        user_ip: Option<String>,
        over_limit: Option<String>,
        /// The operator or the user of the machine who did it, if any.
        operator: Option<String>,
        /// The number of equal decisions that it stands for, if they change nothing.
        times: u32,
        request_id: Option<String>,
    }

    /// What deletes old rows if the clock has moved: `operations/housekeeping.rs`. Nodes replace it regardless of others.
    Retention in retention, key 1 {
        /// The name of the table.
        name: String,
        /// The time of the last look, to an hour.
        seen_at: Time,
        /// The time until which the clock is not believed, and the time that counts meanwhile.
        held_until: Option<Time>,
        believed: Option<Time>,
    }

    /// The number of messages sent: see `operations/budgets.rs`.
    Budget in budgets, key 1, due ends_at {
        subject: String,
        /// The times of the messages, the latest last, in 8 bytes each.
        times: Vec<u8>,
        /// The number on the day that ends then, if there is no list.
        count: u32,
        ends_at: Time,
    }

    /// A code for one action, of a subject: `user:` and an id, or `phone:`, an application and a number.
    SentCode in codes, key 2, due expires_at {
        subject: String,
        /// Empty for a code that is not bound to an action.
        action: String,
        code: Sealed<String>,
        expires_at: Time,
        /// The number of times it was sent, by SMS and voice together.
        sends: u32,
        wrong_tries: u32,
        spent: bool,
        /// The time at which it was last sent by each channel; 0 if it was not.
        sms_at: Time,
        call_at: Time,
        /// The route by which it was last sent; `None` if a process of an earlier version sent it.
        route: Option<String>,
    }

    /// The wrong codes of a user or a number by one factor since the last right one; no row if there are none.
    FactorState in factor_states, key 2 {
        subject: String,
        factor: String,
        wrong_in_a_row: u32,
        wrong_at: Time,
    }

    /// The latest verification of a number that belongs to no user yet; its code is in `codes`.
    NumberCheck in verifications, key 1, due forget_at {
        subject: String,
        app_id: i64,
        uuid: String,
        expires_at: Time,
        forget_at: Time,
        verified: bool,
    }

    /// A job: a message or callback to send. Its row is written in the transaction that causes it: `operations/jobs.rs`.
    Job in jobs, key 2, due due_at of lane {
        subject: String,
        job_id: i64,
        app_id: i64,
        kind: JobKind,
        action: String,
        payload: Sealed<String>,
        /// The phone number of a message, masked.
        number: Option<String>,
        /// The route by which it goes next, or its outcome.
        lane: String,
        /// The route of the latest attempt.
        route: String,
        /// Set if an attempt was begun and its outcome is not known.
        leased: bool,
        /// The time at which the job has to be looked at.
        due_at: Time,
        /// The time from which it is no longer to be sent.
        deadline: Time,
        created_at: Time,
        /// The time at which it was sent, or failed.
        ended_at: Option<Time>,
        /// The number of attempts that have ended, or are believed to have.
        attempts: u32,
        /// The number of attempts that may have sent it.
        ambiguous: u32,
        /// The number of those attempts that went by the route of its lane.
        ambiguous_here: u32,
        /// Changes whenever another attempt begins, so that who began an earlier one decides nothing.
        epoch: u32,
        /// The state of its routes: see `operations/jobs/known.rs`.
        asked: String,
        /// The id that the provider gave it.
        provider_id: Option<String>,
        /// The latest report of the provider, as it is shown, and its time.
        receipt: Option<String>,
        receipt_at: Option<Time>,
        /// Without code and number.
        last_error: Option<String>,
    }

    /// The job that a provider means by an id. A report that arrives before its job is over waits here, without a job.
    Receipt in receipts, key 2, due forget_at {
        route: String,
        provider_id: String,
        subject: Option<String>,
        job_id: i64,
        receipt: Option<String>,
        receipt_at: Option<Time>,
        forget_at: Time,
    }

    /// A document with a code that a provider fetches once, by the hash of its token: `operations/documents.rs`.
    Document in documents, key 1, due expires_at {
        token_hash: Vec<u8>,
        route: String,
        /// The subject whose code it has; empty for the document of a test.
        subject: String,
        action: String,
        app_id: i64,
        content: Sealed<String>,
        expires_at: Time,
    }

    /// A route by which a server sends messages. There are few.
    Route in routes, key 1 {
        name: String,
        settings: Sealed<String>,
        /// Set if it is kept only for the jobs that wait for it.
        removed: bool,
        changed_at: Time,
    }

    /// An operator of the service, with a token. There are few.
    Operator in operators, key 1 {
        name: String,
        role: String,
        token_hash: Vec<u8>,
        created_at: Time,
        expires_at: Option<Time>,
        used_at: Option<Time>,
        apps: Option<String>,
    }

    /// A provider's result about a number's line, empty if it has none: see `operations/lines.rs`.
    KeptLine in phone_lines, key 2, due expires_at {
        app_id: i64,
        /// Under a key of the application: most of the numbers belong to no user here.
        number_hash: Vec<u8>,
        carrier: Option<String>,
        kind: Option<String>,
        ported: Option<bool>,
        expires_at: Time,
    }

    /// A user of the service that calls are forwarded to: `operations/forwarding.rs`. No row of `users` protects this one.
    Forwarded in forwarded, key 2 {
        app_id: i64,
        id: u64,
        state: String,
        country_code: Option<u16>,
        cellphone: Option<String>,
        email: Option<String>,
        confirmed: bool,
        /// Set if the user may have an app there, whose secret cannot be read.
        has_app: bool,
        /// The time until which a code sent there may be valid, and whether it was sent despite an app.
        sent_until: Time,
        sent_forced: bool,
    }

    /// The time since which an application forwards calls, and its counts.
    Forwarding in forwarding, key 1 {
        app_id: i64,
        begun_at: Time,
        calls: u64,
        failed: u64,
        /// The number of users that are known to be there, were taken over, and were returned.
        there: u64,
        here: u64,
        returned: u64,
    }

    /// Counts of a month (year × 12 + month, from 0), in shards so that nodes need not wait. Month 0 has the users now.
    Statistics in statistics, key 3 {
        app_id: i64,
        month: i64,
        shard: u8,
        api_calls: i64,
        auths: i64,
        calls: i64,
        sms: i64,
        users: i64,
    }
}
