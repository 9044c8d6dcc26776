-- Callbacks to clients. A load's calls: null (no client is called), due (its slices are to be checked), made or failed.
ALTER TABLE loads ADD COLUMN calls TEXT;
ALTER TABLE loads ADD COLUMN call_messages_at INTEGER;  -- when the messages to check its slices were last sent
ALTER TABLE loads ADD COLUMN call_error TEXT;           -- why they can't be checked
ALTER TABLE slices ADD COLUMN looked_through INTEGER NOT NULL DEFAULT 0;
CREATE INDEX slices_to_look_through ON slices (load_id, number) WHERE looked_through = 0;

-- The calls to one client because of one slice; their content is in a blob.
CREATE TABLE callbacks (
    client INTEGER NOT NULL,
    load_id INTEGER NOT NULL REFERENCES loads (id),
    slice INTEGER NOT NULL,
    state TEXT NOT NULL,              -- open, done, dead, dropped
    calls INTEGER NOT NULL,
    answered INTEGER NOT NULL DEFAULT 0,
    done BLOB,                        -- one bit per call
    recorded_at INTEGER NOT NULL,
    not_before INTEGER,
    deferrals INTEGER NOT NULL DEFAULT 0,
    failing_since INTEGER,
    error TEXT,
    PRIMARY KEY (client, load_id, slice)
) WITHOUT ROWID;
CREATE INDEX callbacks_open ON callbacks (client, load_id, slice) WHERE state = 'open';
CREATE INDEX callbacks_by_load ON callbacks (load_id, state);

-- A client is called by one process at a time.
CREATE TABLE call_clients (
    client INTEGER PRIMARY KEY,
    owner TEXT,
    lease_expires_at INTEGER,
    not_before INTEGER,
    failures INTEGER NOT NULL DEFAULT 0,
    failing_since INTEGER,            -- no call was accepted since then
    message_at INTEGER,               -- when its message becomes visible; null: none was sent
    call_ms INTEGER                   -- duration of a recent call
);
