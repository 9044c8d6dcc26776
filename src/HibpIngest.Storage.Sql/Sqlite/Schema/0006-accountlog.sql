-- The state of loads in the journal. A version is the catalogue_version at the last change of the data that
-- the log records of a breach or load.
ALTER TABLE breaches ADD COLUMN log_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE loads ADD COLUMN log_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE loads ADD COLUMN logged_version INTEGER; -- version of its newest document; null: it is not logged
ALTER TABLE loads ADD COLUMN log_message_at INTEGER; -- when the message to log it was last sent
ALTER TABLE loads ADD COLUMN log_error TEXT;         -- why logging it failed

-- Recorded before the first segment is written, so that they are the same if they are written again.
CREATE TABLE log_segments (
    load_id INTEGER NOT NULL REFERENCES loads (id),
    number INTEGER NOT NULL,
    first_position INTEGER NOT NULL,
    last_position INTEGER NOT NULL,
    bytes INTEGER,                    -- null until it is written
    PRIMARY KEY (load_id, number)
) WITHOUT ROWID;
