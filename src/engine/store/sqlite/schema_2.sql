-- Version 2: what calls do and say by default, for each application; operators of some applications; and receipts by ids
-- in one spelling.
ALTER TABLE applications ADD COLUMN force_codes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE applications ADD COLUMN logo TEXT;
ALTER TABLE applications ADD COLUMN authenticator_digits INTEGER NOT NULL DEFAULT 6;
ALTER TABLE applications ADD COLUMN authenticator_period INTEGER NOT NULL DEFAULT 30;
ALTER TABLE applications ADD COLUMN approval_seconds INTEGER NOT NULL DEFAULT 86400;
ALTER TABLE operators ADD COLUMN apps TEXT;
ALTER TABLE audit ADD COLUMN request_id TEXT;

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
