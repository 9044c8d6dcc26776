-- Which clients are to be called of what. A load's calls: null (nobody is), due (its slices are to be looked through), made.
ALTER TABLE dbo.loads ADD calls varchar(10) NULL;
ALTER TABLE dbo.loads ADD call_messages_at datetime2(3) NULL; -- when the messages that have its slices looked through were last sent
ALTER TABLE dbo.loads ADD call_error nvarchar(max) NULL;      -- why they can't be
ALTER TABLE dbo.slices ADD looked_through bit NOT NULL CONSTRAINT slices_looked_through DEFAULT 0;
GO
CREATE INDEX slices_to_look_through ON dbo.slices (load_id, number) WHERE looked_through = 0;
GO
-- The calls of one client because of one slice; what they say is in a blob.
CREATE TABLE dbo.callbacks (
    client int NOT NULL,
    load_id bigint NOT NULL CONSTRAINT callbacks_of_load REFERENCES dbo.loads (id),
    slice int NOT NULL,
    state varchar(10) NOT NULL,       -- open, done, dead, dropped
    calls int NOT NULL,
    answered int NOT NULL CONSTRAINT callbacks_answered DEFAULT 0,
    done varbinary(max) NULL,         -- a bit for each call
    recorded_at datetime2(3) NOT NULL,
    not_before datetime2(3) NULL,
    deferrals int NOT NULL CONSTRAINT callbacks_deferrals DEFAULT 0,
    failing_since datetime2(3) NULL,
    error nvarchar(max) NULL,
    CONSTRAINT callbacks_key PRIMARY KEY (client, load_id, slice)
);
CREATE INDEX callbacks_open ON dbo.callbacks (client, load_id, slice) WHERE state = 'open';
CREATE INDEX callbacks_by_load ON dbo.callbacks (load_id, state);
GO
-- One process at a time calls a client.
CREATE TABLE dbo.call_clients (
    client int NOT NULL CONSTRAINT call_clients_key PRIMARY KEY,
    owner nvarchar(400) COLLATE Latin1_General_100_BIN2 NULL,
    lease_expires_at datetime2(3) NULL,
    not_before datetime2(3) NULL,
    failures int NOT NULL CONSTRAINT call_clients_failures DEFAULT 0,
    failing_since datetime2(3) NULL,  -- no call was accepted since
    message_at datetime2(3) NULL,     -- when its message can be seen; null: none is on its way
    call_ms int NULL                  -- how long a call took lately
);
GO
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.callbacks TO hibp_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.call_clients TO hibp_app;
