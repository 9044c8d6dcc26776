-- Marks belong to loads. Ids of loads and marks are drawn from the store register and inserted as they are
-- (version 1's AUTOINCREMENT remains, unused).

-- The highest ids ever inserted, never lowered by a removal. They reveal a database restored from a backup.
CREATE TABLE store_counters (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    highest_load INTEGER NOT NULL,
    highest_mark INTEGER NOT NULL,
    catalogue_version INTEGER NOT NULL -- raised by each change that readers can see
);
INSERT INTO store_counters (only_row, highest_load, highest_mark, catalogue_version)
SELECT 1, COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'loads'), 0), highest, 0 FROM breach_ids;
DROP TABLE breach_ids;

ALTER TABLE loads ADD COLUMN mark INTEGER;                            -- null until the first batch has committed
ALTER TABLE loads ADD COLUMN published_at INTEGER;                    -- when its mark was published; null: not published
ALTER TABLE loads ADD COLUMN replaced_by INTEGER;                     -- the load of the same blob name that was published in its place
ALTER TABLE loads ADD COLUMN superseded INTEGER NOT NULL DEFAULT 0;   -- its blob was replaced while it was read: it can't resume
ALTER TABLE loads ADD COLUMN removing INTEGER NOT NULL DEFAULT 0;     -- it is being removed
-- The progress of its removal from the account table, if its rows were purged.
ALTER TABLE loads ADD COLUMN removal_token TEXT;
ALTER TABLE loads ADD COLUMN held_because TEXT;                       -- why its mails wait for an operator, regardless of its metadata
ALTER TABLE loads ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;     -- attempts since its last progress
ALTER TABLE loads ADD COLUMN message_sent_at INTEGER;                 -- when the message of its state was last sent
ALTER TABLE loads ADD COLUMN mails_queued INTEGER NOT NULL DEFAULT 0; -- notifications up to this number have a message

ALTER TABLE loads ADD COLUMN count_parts INTEGER NOT NULL DEFAULT 0;     -- parts of the exact count; 0: not begun
ALTER TABLE loads ADD COLUMN counted_parts INTEGER NOT NULL DEFAULT 0;   -- parts counted so far,
ALTER TABLE loads ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;         -- and their accounts
ALTER TABLE loads ADD COLUMN told_subscriber INTEGER NOT NULL DEFAULT 0; -- domain subscriptions up to this id have their notifications
ALTER TABLE load_domains ADD COLUMN exact INTEGER;                       -- distinct accounts counted so far

-- The one id of all loads of a breach becomes the mark of each of them.
UPDATE loads SET mark = (SELECT b.id FROM breaches b WHERE b.key = loads.breach) WHERE last_position > 0;
UPDATE loads SET published_at = (SELECT b.published_at FROM breaches b WHERE b.key = loads.breach) WHERE mark IS NOT NULL;
CREATE INDEX loads_by_mark ON loads (mark);

-- Removes the id. A unique column can't be dropped, so the table is recreated. References to it are checked at
-- the commit.
PRAGMA defer_foreign_keys = ON;
CREATE TABLE breaches_of_1 AS SELECT * FROM breaches;
DROP TABLE breaches;
CREATE TABLE breaches (
    key INTEGER PRIMARY KEY,
    folded_name TEXT NOT NULL UNIQUE, -- SQLite's NOCASE folds ASCII only
    name TEXT NOT NULL,
    metadata TEXT NOT NULL,
    hidden INTEGER NOT NULL DEFAULT 0,
    published_at INTEGER
);
INSERT INTO breaches SELECT key, folded_name, name, metadata, hidden, published_at FROM breaches_of_1;
DROP TABLE breaches_of_1;

ALTER TABLE slices ADD COLUMN owner TEXT;
ALTER TABLE slices ADD COLUMN lease_expires_at INTEGER;
ALTER TABLE slices ADD COLUMN active_at INTEGER;                        -- when it was last begun, renewed or ended
ALTER TABLE slices ADD COLUMN done_transactions BLOB;                   -- one bit per transaction, in order: set if it is done
ALTER TABLE slices ADD COLUMN order_version INTEGER NOT NULL DEFAULT 0; -- version of their order
-- Makes the check "is this load being processed" one probe.
CREATE INDEX slices_by_activity ON slices (load, active_at);

-- A password belongs to one version of a blob; an empty etag: to the version that is being dropped.
CREATE TABLE passwords_of_2 (
    blob TEXT NOT NULL,
    etag TEXT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (blob, etag)
) WITHOUT ROWID;
DROP TABLE passwords; -- sealed for a name instead of a version: they can't be opened any more, and no load is open
ALTER TABLE passwords_of_2 RENAME TO passwords;

ALTER TABLE notifications ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;  -- claims since its last deferral
ALTER TABLE notifications ADD COLUMN not_before INTEGER;                   -- deferred until then at the request of the recipient's server
ALTER TABLE notifications ADD COLUMN deferrals INTEGER NOT NULL DEFAULT 0; -- number of deferrals
ALTER TABLE notifications ADD COLUMN deferred_since INTEGER;               -- time of the first of them

-- Make the checks "which is sent next" and "which are due" one probe each.
CREATE INDEX notifications_waiting ON notifications (load, number) WHERE state = 'open' AND not_before IS NULL;
CREATE INDEX notifications_deferred ON notifications (load, not_before) WHERE state = 'open' AND not_before IS NOT NULL;

-- The earliest time of the whole system's next mail.
CREATE TABLE mail_rate (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    next_at INTEGER NOT NULL
);
INSERT INTO mail_rate (only_row, next_at) VALUES (1, 0);
