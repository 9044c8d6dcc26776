-- Which clients are to be called of what. A load's calls: null (nobody is), due (its slices are to be looked through), made.
ALTER TABLE loads ADD COLUMN calls TEXT;
ALTER TABLE loads ADD COLUMN call_messages_at INTEGER;  -- when the messages that have its slices looked through were last sent
ALTER TABLE loads ADD COLUMN call_error TEXT;           -- why they can't be
ALTER TABLE slices ADD COLUMN looked_through INTEGER NOT NULL DEFAULT 0;
CREATE INDEX slices_to_look_through ON slices (load_id, number) WHERE looked_through = 0;

-- The calls of one client because of one slice; what they say is in a blob.
CREATE TABLE callbacks (
    client INTEGER NOT NULL,
    load_id INTEGER NOT NULL REFERENCES loads (id),
    slice INTEGER NOT NULL,
    state TEXT NOT NULL,              -- open, done, dead, dropped
    calls INTEGER NOT NULL,
    answered INTEGER NOT NULL DEFAULT 0,
    done BLOB,                        -- a bit for each call
    recorded_at INTEGER NOT NULL,
    not_before INTEGER,
    deferrals INTEGER NOT NULL DEFAULT 0,
    failing_since INTEGER,
    error TEXT,
    PRIMARY KEY (client, load_id, slice)
) WITHOUT ROWID;
CREATE INDEX callbacks_open ON callbacks (client, load_id, slice) WHERE state = 'open';
CREATE INDEX callbacks_by_load ON callbacks (load_id, state);

-- One process at a time calls a client.
CREATE TABLE call_clients (
    client INTEGER PRIMARY KEY,
    owner TEXT,
    lease_expires_at INTEGER,
    not_before INTEGER,
    failures INTEGER NOT NULL DEFAULT 0,
    failing_since INTEGER,            -- no call was accepted since
    message_at INTEGER,               -- when its message can be seen; null: none is on its way
    call_ms INTEGER                   -- how long a call took lately
);
