-- Times are integer milliseconds since 1970 UTC, by the program's TimeProvider. Aliases and domains of accounts
-- are blobs: lower-case ASCII, compared bytewise.

CREATE TABLE store_identity (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    id TEXT NOT NULL,
    partition_spread INTEGER NOT NULL,
    storage_accounts INTEGER NOT NULL
);

CREATE TABLE locks (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;

-- The highest breach id ever assigned. Property names in the account table are derived from the id, so an id is
-- never reused, not even after its breach was removed.
CREATE TABLE breach_ids (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    highest INTEGER NOT NULL
);
INSERT INTO breach_ids (only_row, highest) VALUES (1, 0);

CREATE TABLE breaches (
    key INTEGER PRIMARY KEY,
    folded_name TEXT NOT NULL UNIQUE, -- SQLite's NOCASE folds ASCII only
    name TEXT NOT NULL,
    id INTEGER UNIQUE,                -- null until the first batch has committed
    metadata TEXT NOT NULL,
    hidden INTEGER NOT NULL DEFAULT 0,
    published_at INTEGER
);

-- AUTOINCREMENT: the id of a removed load is never reused, so that a late message can't reach another load.
CREATE TABLE loads (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    breach INTEGER NOT NULL REFERENCES breaches (key),
    blob TEXT NOT NULL,
    etag TEXT NOT NULL,
    generation INTEGER NOT NULL,      -- counts the restarts of a blob version
    superseded_by INTEGER,            -- the load it was restarted as
    state TEXT NOT NULL,
    failed_in TEXT,                   -- the state in which a failed load resumes
    error TEXT,
    settings TEXT NOT NULL,
    checkpoint TEXT NOT NULL,
    accounts INTEGER NOT NULL DEFAULT 0,
    last_position INTEGER NOT NULL DEFAULT 0,
    matched_position INTEGER NOT NULL DEFAULT 0,
    -- Subscriptions made after matching began are not matched: they would see only part of the rows.
    last_subscriber INTEGER NOT NULL DEFAULT 0,
    batches INTEGER NOT NULL DEFAULT 0,
    ingest_complete INTEGER NOT NULL DEFAULT 0,
    duplicates_possible INTEGER NOT NULL DEFAULT 0,
    purging INTEGER NOT NULL DEFAULT 0,         -- some rows are deleted already
    purged INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    lease_expires_at INTEGER,
    started_at INTEGER NOT NULL,
    ingested_at INTEGER,
    upserted_at INTEGER,
    finished_at INTEGER,
    UNIQUE (blob, etag, generation)
);
CREATE INDEX loads_by_breach ON loads (breach, state);

-- A load's rows are stored together, ordered by position: ingesting appends, a slice is one range scan, and no
-- second index is needed.
CREATE TABLE rows (
    id INTEGER PRIMARY KEY,           -- load << 40 | position
    alias BLOB NOT NULL,
    domain BLOB NOT NULL
);

CREATE TABLE slices (
    load INTEGER NOT NULL REFERENCES loads (id),
    number INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    count INTEGER NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    entities INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    pending_since INTEGER NOT NULL,
    queued_at INTEGER,
    done_at INTEGER,
    PRIMARY KEY (load, number)
) WITHOUT ROWID;
-- Makes the check "is any slice not done", which runs after each finished slice, one probe.
CREATE INDEX slices_undone ON slices (load, state) WHERE state <> 'done';

-- Keyed by the blob's name, because a password is stored before its load exists.
CREATE TABLE passwords (
    blob TEXT PRIMARY KEY,
    sealed BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE subscribers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    email TEXT NOT NULL,
    domain TEXT NOT NULL,             -- empty: the subscriber's own address
    match_domain BLOB NOT NULL,       -- the domain of the accounts it matches,
    match_alias BLOB,                 -- and the alias; null: all of them
    UNIQUE (email, domain)
);
CREATE INDEX subscribers_match ON subscribers (match_domain, match_alias);

-- A subscription has one kind and one domain, so that (breach, subscriber) identifies a notification's unique
-- (kind, subscriber, domain, breach).
CREATE TABLE notifications (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    breach INTEGER NOT NULL REFERENCES breaches (key),
    subscriber INTEGER NOT NULL REFERENCES subscribers (id),
    load INTEGER NOT NULL REFERENCES loads (id),
    number INTEGER,                   -- null until matching has ended
    accounts INTEGER NOT NULL,
    state TEXT NOT NULL,
    claim_owner TEXT,
    claim_expires_at INTEGER,
    error TEXT,
    completed_at INTEGER,
    UNIQUE (breach, subscriber)
);
CREATE INDEX notifications_by_load ON notifications (load, number);
CREATE INDEX notifications_by_state ON notifications (load, state);
CREATE INDEX notifications_by_subscriber ON notifications (subscriber);

-- The number of a load's rows in a subscribed domain, among the rows matched so far.
CREATE TABLE load_domains (
    load INTEGER NOT NULL REFERENCES loads (id),
    domain BLOB NOT NULL,
    accounts INTEGER NOT NULL,
    PRIMARY KEY (load, domain)
) WITHOUT ROWID;
