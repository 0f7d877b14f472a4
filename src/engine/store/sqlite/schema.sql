-- The tables of src/engine/store/tables.rs, where the comments are. Times are milliseconds since the
-- Unix epoch; flags are 0 or 1.

-- The versions of these tables: see store/migrations.rs.
CREATE TABLE migrations (
    version INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

-- Which file the database is in, in one row: see origin.rs.
CREATE TABLE file (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id BLOB NOT NULL,
    born INTEGER,
    inode INTEGER,
    number INTEGER NOT NULL
) STRICT;

CREATE TABLE applications (
    app_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    sms_enabled INTEGER NOT NULL,
    white_label INTEGER NOT NULL,
    api_key BLOB NOT NULL,
    earlier_key BLOB NOT NULL,
    earlier_until INTEGER,
    secret BLOB NOT NULL,
    callback_url TEXT,
    token_length INTEGER NOT NULL,
    replies TEXT NOT NULL,
    header_prefix TEXT NOT NULL,
    push_path TEXT NOT NULL,
    id_field TEXT NOT NULL,
    chrome_device TEXT NOT NULL,
    callback_method TEXT NOT NULL,
    callback_ca_file TEXT,
    callback_private INTEGER NOT NULL,
    install_link TEXT,
    offline_days INTEGER NOT NULL,
    limits TEXT NOT NULL,
    texts TEXT,
    otp_domain TEXT,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE sealing_keys (
    key_id TEXT PRIMARY KEY,
    added_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sequences (
    name TEXT PRIMARY KEY,
    last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE lookups (
    kind TEXT NOT NULL,
    app_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (kind, app_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    user_id INTEGER PRIMARY KEY,
    app_id INTEGER NOT NULL,
    country_code INTEGER NOT NULL,
    cellphone TEXT NOT NULL,
    email TEXT NOT NULL,
    login TEXT,
    confirmed INTEGER NOT NULL,
    sms_used INTEGER NOT NULL,
    snoozed_until INTEGER NOT NULL,
    last_authenticator INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE emails (
    user_id INTEGER NOT NULL,
    email TEXT NOT NULL,
    PRIMARY KEY (user_id, email)
) STRICT, WITHOUT ROWID;

CREATE TABLE authenticators (
    user_id INTEGER NOT NULL,
    authenticator_id INTEGER NOT NULL,
    label TEXT,
    secret BLOB NOT NULL,
    digits INTEGER NOT NULL,
    period INTEGER NOT NULL,
    last_step INTEGER,
    used_at INTEGER,
    prepared_step INTEGER,
    created_at INTEGER NOT NULL,
    device_id INTEGER,
    PRIMARY KEY (user_id, authenticator_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE offline_preparations (
    user_id INTEGER NOT NULL,
    authenticator_id INTEGER NOT NULL,
    machine TEXT NOT NULL,
    period INTEGER NOT NULL,
    first_step INTEGER NOT NULL,
    end_step INTEGER NOT NULL,
    PRIMARY KEY (user_id, authenticator_id, machine)
) STRICT, WITHOUT ROWID;

CREATE TABLE offline_logins (
    user_id INTEGER NOT NULL,
    authenticator_id INTEGER NOT NULL,
    step INTEGER NOT NULL,
    machine TEXT NOT NULL,
    PRIMARY KEY (user_id, authenticator_id, step, machine)
) STRICT, WITHOUT ROWID;

CREATE TABLE recovery_codes (
    user_id INTEGER NOT NULL,
    hash BLOB NOT NULL,
    salt BLOB NOT NULL,
    spent INTEGER NOT NULL,
    PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE browsers (
    user_id INTEGER NOT NULL,
    id_hash BLOB NOT NULL,
    number INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, id_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX browsers_due ON browsers (expires_at);

CREATE TABLE devices (
    user_id INTEGER NOT NULL,
    device_id INTEGER NOT NULL,
    os_type TEXT NOT NULL,
    secret_hash BLOB NOT NULL,
    public_key BLOB NOT NULL,
    name TEXT,
    language TEXT,
    push BLOB NOT NULL,
    registered_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, device_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE approver (
    one INTEGER PRIMARY KEY,
    public_url TEXT,
    push_key BLOB NOT NULL,
    code_key BLOB NOT NULL
) STRICT;

CREATE TABLE invitations (
    code_hash BLOB PRIMARY KEY,
    app_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    forget_at INTEGER NOT NULL,
    device_id INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_due ON invitations (forget_at);

CREATE TABLE logos (
    url_hash BLOB PRIMARY KEY,
    media_type TEXT,
    content BLOB NOT NULL,
    forget_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX logos_due ON logos (forget_at);

CREATE TABLE approvals (
    user_id INTEGER NOT NULL,
    uuid TEXT NOT NULL,
    app_id INTEGER NOT NULL,
    message TEXT NOT NULL,
    details TEXT NOT NULL,
    hidden_details TEXT NOT NULL,
    logos TEXT NOT NULL,
    seconds_to_expire INTEGER NOT NULL,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    expires_at INTEGER,
    processed_at INTEGER,
    device_id INTEGER,
    shown TEXT NOT NULL,
    number BLOB NOT NULL,
    wrong_numbers INTEGER NOT NULL,
    notified INTEGER NOT NULL,
    evidence BLOB NOT NULL,
    PRIMARY KEY (user_id, uuid)
) STRICT, WITHOUT ROWID;

CREATE TABLE open_approvals (
    user_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    uuid TEXT NOT NULL,
    PRIMARY KEY (user_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE activities (
    user_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    nonce INTEGER NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    user_ip TEXT,
    PRIMARY KEY (user_id, created_at, nonce)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    user_id INTEGER NOT NULL,
    steady_at INTEGER NOT NULL,
    nonce INTEGER NOT NULL,
    app_id INTEGER NOT NULL,
    noted_at INTEGER NOT NULL,
    call TEXT NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT,
    factor TEXT,
    number TEXT,
    user_ip TEXT,
    over_limit TEXT,
    operator TEXT,
    times INTEGER NOT NULL,
    PRIMARY KEY (user_id, steady_at, nonce)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_due ON audit (app_id, steady_at, user_id, nonce);

CREATE TABLE retention (
    name TEXT PRIMARY KEY,
    seen_at INTEGER NOT NULL,
    held_until INTEGER,
    believed INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE budgets (
    subject TEXT PRIMARY KEY,
    times BLOB NOT NULL,
    count INTEGER NOT NULL,
    ends_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX budgets_due ON budgets (ends_at);

CREATE TABLE codes (
    subject TEXT NOT NULL,
    action TEXT NOT NULL,
    code BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    sends INTEGER NOT NULL,
    wrong_tries INTEGER NOT NULL,
    spent INTEGER NOT NULL,
    sms_at INTEGER NOT NULL,
    call_at INTEGER NOT NULL,
    PRIMARY KEY (subject, action)
) STRICT, WITHOUT ROWID;
CREATE INDEX codes_due ON codes (expires_at);

CREATE TABLE factor_states (
    subject TEXT NOT NULL,
    factor TEXT NOT NULL,
    wrong_in_a_row INTEGER NOT NULL,
    wrong_at INTEGER NOT NULL,
    PRIMARY KEY (subject, factor)
) STRICT, WITHOUT ROWID;

CREATE TABLE verifications (
    subject TEXT PRIMARY KEY,
    app_id INTEGER NOT NULL,
    uuid TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    forget_at INTEGER NOT NULL,
    verified INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX verifications_due ON verifications (forget_at);

CREATE TABLE jobs (
    subject TEXT NOT NULL,
    job_id INTEGER NOT NULL,
    app_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    action TEXT NOT NULL,
    payload BLOB NOT NULL,
    number TEXT,
    lane TEXT NOT NULL,
    route TEXT NOT NULL,
    leased INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    attempts INTEGER NOT NULL,
    ambiguous INTEGER NOT NULL,
    ambiguous_here INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    asked TEXT NOT NULL,
    provider_id TEXT,
    receipt TEXT,
    receipt_at INTEGER,
    last_error TEXT,
    PRIMARY KEY (subject, job_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_due ON jobs (lane, due_at);

CREATE TABLE receipts (
    route TEXT NOT NULL,
    provider_id TEXT NOT NULL,
    subject TEXT,
    job_id INTEGER NOT NULL,
    receipt TEXT,
    receipt_at INTEGER,
    forget_at INTEGER NOT NULL,
    PRIMARY KEY (route, provider_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_due ON receipts (forget_at);

CREATE TABLE documents (
    token_hash BLOB PRIMARY KEY,
    route TEXT NOT NULL,
    subject TEXT NOT NULL,
    action TEXT NOT NULL,
    app_id INTEGER NOT NULL,
    content BLOB NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX documents_due ON documents (expires_at);

CREATE TABLE routes (
    name TEXT PRIMARY KEY,
    settings BLOB NOT NULL,
    removed INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE operators (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    token_hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    used_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE phone_lines (
    app_id INTEGER NOT NULL,
    number_hash BLOB NOT NULL,
    carrier TEXT,
    kind TEXT,
    ported INTEGER,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (app_id, number_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX phone_lines_due ON phone_lines (expires_at);

CREATE TABLE forwarded (
    app_id INTEGER NOT NULL,
    id INTEGER NOT NULL,
    state TEXT NOT NULL,
    country_code INTEGER,
    cellphone TEXT,
    email TEXT,
    confirmed INTEGER NOT NULL,
    has_app INTEGER NOT NULL,
    sent_until INTEGER NOT NULL,
    sent_forced INTEGER NOT NULL,
    PRIMARY KEY (app_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE forwarding (
    app_id INTEGER PRIMARY KEY,
    begun_at INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    there INTEGER NOT NULL,
    here INTEGER NOT NULL,
    returned INTEGER NOT NULL
) STRICT;

CREATE TABLE statistics (
    app_id INTEGER NOT NULL,
    month INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    api_calls INTEGER NOT NULL,
    auths INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    sms INTEGER NOT NULL,
    users INTEGER NOT NULL,
    PRIMARY KEY (app_id, month, shard)
) STRICT, WITHOUT ROWID;
