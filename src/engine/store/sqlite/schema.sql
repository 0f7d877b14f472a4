-- Times are milliseconds since the Unix epoch; flags are 0 or 1.

CREATE TABLE applications (
    app_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    sms_enabled INTEGER NOT NULL,
    white_label INTEGER NOT NULL,
    api_key TEXT NOT NULL,
    api_key_hash BLOB NOT NULL UNIQUE,
    -- Signs the tokens of remembered browsers.
    secret BLOB NOT NULL,
    callback_url TEXT,
    token_length INTEGER NOT NULL,
    replies TEXT NOT NULL,
    header_prefix TEXT NOT NULL,
    push_path TEXT NOT NULL,
    id_field TEXT NOT NULL,
    chrome_device TEXT NOT NULL,
    callback_ca_file TEXT,
    install_link TEXT,
    offline_days INTEGER NOT NULL,
    -- How many there are now.
    users INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
    user_id INTEGER PRIMARY KEY AUTOINCREMENT,
    app_id INTEGER NOT NULL REFERENCES applications,
    country_code INTEGER NOT NULL,
    cellphone TEXT NOT NULL,
    -- The user's name on machines.
    login TEXT,
    confirmed INTEGER NOT NULL DEFAULT 0,
    sms_used INTEGER NOT NULL DEFAULT 0,
    snoozed_until INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    UNIQUE (app_id, country_code, cellphone),
    UNIQUE (app_id, login)
) STRICT;

CREATE TABLE emails (
    email_id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    email TEXT NOT NULL,
    UNIQUE (user_id, email)
) STRICT;

-- A subject is `user:` and an id, or `phone:`, an application and a number.
CREATE TABLE codes (
    subject TEXT NOT NULL,
    action TEXT NOT NULL,
    code TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    sends INTEGER NOT NULL,
    wrong_tries INTEGER NOT NULL,
    spent INTEGER NOT NULL,
    sms_at INTEGER NOT NULL,
    call_at INTEGER NOT NULL,
    PRIMARY KEY (subject, action)
) STRICT, WITHOUT ROWID;
CREATE INDEX codes_by_end ON codes (expires_at);

-- The latest verification of each number; its code is in `codes`.
CREATE TABLE verifications (
    subject TEXT PRIMARY KEY,
    app_id INTEGER NOT NULL,
    uuid TEXT NOT NULL UNIQUE,
    expires_at INTEGER NOT NULL,
    verified INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX verifications_by_end ON verifications (expires_at);

CREATE TABLE wrong_answers (
    subject TEXT NOT NULL,
    factor TEXT NOT NULL,
    in_a_row INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (subject, factor)
) STRICT, WITHOUT ROWID;

CREATE TABLE authenticators (
    authenticator_id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    label TEXT,
    secret BLOB NOT NULL,
    digits INTEGER NOT NULL,
    period INTEGER NOT NULL,
    last_step INTEGER,
    -- When the service has accepted a code, and with the code of which step it has prepared logins.
    used_at INTEGER,
    prepared_step INTEGER,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX authenticators_of_user ON authenticators (user_id);

-- The steps whose codes a machine may accept while the service is unreachable. They stay when the
-- authenticator app is replaced, because a machine may report its logins later.
CREATE TABLE offline_preparations (
    user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    authenticator_id INTEGER NOT NULL,
    machine TEXT NOT NULL,
    period INTEGER NOT NULL,
    first_step INTEGER NOT NULL,
    end_step INTEGER NOT NULL,
    PRIMARY KEY (user_id, authenticator_id, machine)
) STRICT, WITHOUT ROWID;

-- The logins that were reported.
CREATE TABLE offline_logins (
    user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    authenticator_id INTEGER NOT NULL,
    step INTEGER NOT NULL,
    machine TEXT NOT NULL,
    PRIMARY KEY (user_id, authenticator_id, step, machine)
) STRICT, WITHOUT ROWID;

-- A set of codes has one salt.
CREATE TABLE recovery_codes (
    user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    hash BLOB NOT NULL,
    salt BLOB NOT NULL,
    spent INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;

-- The browsers that are remembered. The hash is that of the id in the token, so no token can be made
-- of it. In the order of their ids, as approvals are.
CREATE TABLE browsers (
    browser_id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    id_hash BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX browsers_of_user ON browsers (user_id);
CREATE INDEX browsers_by_end ON browsers (expires_at);

CREATE TABLE devices (
    device_id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    os_type TEXT NOT NULL,
    secret_hash BLOB NOT NULL,
    registered_at INTEGER NOT NULL
) STRICT;
CREATE INDEX devices_of_user ON devices (user_id);

-- In the order of their ids: several requests may have one time.
CREATE TABLE approvals (
    approval_id INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    app_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
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
    device_id INTEGER
) STRICT;
CREATE INDEX approvals_of_user ON approvals (user_id, status);

CREATE TABLE activities (
    activity_id INTEGER PRIMARY KEY,
    user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    user_ip TEXT,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX activities_of_user ON activities (user_id);

-- Messages that the engine has to send: `sms`, `calls`, `welcome` and `callback`. A row is written in the
-- transaction that causes it, and deleted when it was delivered.
CREATE TABLE outbox (
    job_id INTEGER PRIMARY KEY AUTOINCREMENT,
    app_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    action TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    last_error TEXT
) STRICT;
CREATE INDEX outbox_of_subject ON outbox (subject);
CREATE INDEX outbox_by_age ON outbox (kind, created_at);

-- A month is the year times twelve plus the month, counted from 0.
CREATE TABLE statistics (
    app_id INTEGER NOT NULL,
    month INTEGER NOT NULL,
    api_calls INTEGER NOT NULL DEFAULT 0,
    auths INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,
    sms INTEGER NOT NULL DEFAULT 0,
    users INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, month)
) STRICT, WITHOUT ROWID;
