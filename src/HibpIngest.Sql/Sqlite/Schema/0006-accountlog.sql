-- What of a load is in the account log. Versions are catalogue_version as it stood when what the log tells of a
-- breach, or of a load, was last changed.
ALTER TABLE breaches ADD COLUMN log_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE loads ADD COLUMN log_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE loads ADD COLUMN logged_version INTEGER; -- what its newest document tells; null: the log doesn't count it
ALTER TABLE loads ADD COLUMN log_message_at INTEGER; -- when the message that has it logged was last sent
ALTER TABLE loads ADD COLUMN log_error TEXT;         -- why it isn't yet

-- Recorded before the first of them is written, so that they are the same whenever they are written again.
CREATE TABLE log_segments (
    load_id INTEGER NOT NULL REFERENCES loads (id),
    number INTEGER NOT NULL,
    first_position INTEGER NOT NULL,
    last_position INTEGER NOT NULL,
    bytes INTEGER,                    -- null until it is written
    PRIMARY KEY (load_id, number)
) WITHOUT ROWID;
