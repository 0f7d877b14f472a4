-- Version 2: what calls do and say by default, for each application.
ALTER TABLE applications ADD COLUMN force_codes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE applications ADD COLUMN logo TEXT;
ALTER TABLE applications ADD COLUMN authenticator_digits INTEGER NOT NULL DEFAULT 6;
ALTER TABLE applications ADD COLUMN authenticator_period INTEGER NOT NULL DEFAULT 30;
