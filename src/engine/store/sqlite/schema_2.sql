-- Version 2: what calls do and say by default, for each application; operators of some applications; and receipts by ids
-- in one spelling.
ALTER TABLE applications ADD COLUMN force_codes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE applications ADD COLUMN logo TEXT;
ALTER TABLE applications ADD COLUMN authenticator_digits INTEGER NOT NULL DEFAULT 6;
ALTER TABLE applications ADD COLUMN authenticator_period INTEGER NOT NULL DEFAULT 30;
ALTER TABLE applications ADD COLUMN approval_seconds INTEGER NOT NULL DEFAULT 86400;
ALTER TABLE operators ADD COLUMN apps TEXT;
ALTER TABLE audit ADD COLUMN request_id TEXT;
ALTER TABLE users ADD COLUMN locked_at INTEGER;
ALTER TABLE users ADD COLUMN number_changed_at INTEGER;
ALTER TABLE invitations ADD COLUMN by_sms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE devices ADD COLUMN used_at INTEGER;
ALTER TABLE authenticators ADD COLUMN algorithm TEXT NOT NULL DEFAULT 'SHA1';
ALTER TABLE codes ADD COLUMN route TEXT;

-- Ids of receipts are compared in lower case and without zeros before them: see operations/jobs/receipts.rs. Of rows
-- that become one, that of a message stays, and of several of them, that of the latest.
DELETE FROM receipts WHERE (route, provider_id) IN (
    SELECT route, provider_id FROM (
        SELECT route, provider_id, row_number() OVER (
            PARTITION BY route, coalesce(nullif(ltrim(lower(provider_id), '0'), ''), '0')
            ORDER BY subject IS NULL, forget_at DESC, provider_id
        ) AS place
        FROM receipts
    ) AS placed
    WHERE place > 1
);
UPDATE receipts SET provider_id = coalesce(nullif(ltrim(lower(provider_id), '0'), ''), '0')
    WHERE provider_id <> coalesce(nullif(ltrim(lower(provider_id), '0'), ''), '0');

-- Lists of an application's users, and what users are found by: see operations/finding.rs. A number has at most 20
-- digits.
CREATE INDEX users_due ON users (app_id, user_id);
ALTER TABLE open_approvals ADD COLUMN app_id INTEGER NOT NULL DEFAULT 0;
UPDATE open_approvals SET app_id = coalesce((SELECT app_id FROM users WHERE users.user_id = open_approvals.user_id), 0);
CREATE INDEX open_approvals_due ON open_approvals (app_id, user_id, number);
CREATE INDEX audit_verdict ON audit (app_id, verdict, steady_at, user_id, nonce);
UPDATE audit SET user_ip = substr(user_ip, 8) WHERE user_ip LIKE '::ffff:%.%';
CREATE INDEX audit_user_ip ON audit (app_id, user_ip, steady_at, user_id, nonce) WHERE user_ip IS NOT NULL;
INSERT INTO lookups (kind, app_id, name, id)
    SELECT 'find_login', app_id, lower(login) || printf(' %020d', user_id), user_id
    FROM users WHERE login IS NOT NULL;
INSERT INTO lookups (kind, app_id, name, id)
    SELECT 'find_email', app_id, lower(email) || printf(' %020d', user_id), user_id
    FROM users WHERE email <> ''
    UNION
    SELECT 'find_email', app_id, lower(e.email) || printf(' %020d', user_id), user_id
    FROM emails AS e JOIN users USING (user_id) WHERE e.email <> '';
INSERT INTO lookups (kind, app_id, name, id)
    SELECT 'find_number', app_id,
        substr(digits, -1, 1) || substr(digits, -2, 1) || substr(digits, -3, 1) || substr(digits, -4, 1) ||
        substr(digits, -5, 1) || substr(digits, -6, 1) || substr(digits, -7, 1) || substr(digits, -8, 1) ||
        substr(digits, -9, 1) || substr(digits, -10, 1) || substr(digits, -11, 1) || substr(digits, -12, 1)
        || substr(digits, -13, 1) || substr(digits, -14, 1) || substr(digits, -15, 1) || substr(digits, -16,
        1) || substr(digits, -17, 1) || substr(digits, -18, 1) || substr(digits, -19, 1) || substr(digits,
        -20, 1)
        || printf(' %020d', user_id), user_id
    FROM (SELECT app_id, user_id, country_code || cellphone AS digits FROM users WHERE cellphone <> '');
