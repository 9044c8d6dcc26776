-- Callbacks to clients. A load's calls: null (no client is called), due (its slices are to be checked), made or failed.
ALTER TABLE dbo.loads ADD calls varchar(10) NULL;
ALTER TABLE dbo.loads ADD call_messages_at datetime2(3) NULL; -- when the messages to check its slices were last sent
ALTER TABLE dbo.loads ADD call_error nvarchar(max) NULL;      -- why they can't be checked
ALTER TABLE dbo.slices ADD looked_through bit NOT NULL CONSTRAINT slices_looked_through DEFAULT 0;
GO
CREATE INDEX slices_to_look_through ON dbo.slices (load_id, number) WHERE looked_through = 0;
GO
-- The calls to one client because of one slice; their content is in a blob.
CREATE TABLE dbo.callbacks (
    client int NOT NULL,
    load_id bigint NOT NULL CONSTRAINT callbacks_of_load REFERENCES dbo.loads (id),
    slice int NOT NULL,
    state varchar(10) NOT NULL,       -- open, done, dead, dropped
    calls int NOT NULL,
    answered int NOT NULL CONSTRAINT callbacks_answered DEFAULT 0,
    done varbinary(max) NULL,         -- one bit per call
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
-- A client is called by one process at a time.
CREATE TABLE dbo.call_clients (
    client int NOT NULL CONSTRAINT call_clients_key PRIMARY KEY,
    owner nvarchar(400) COLLATE Latin1_General_100_BIN2 NULL,
    lease_expires_at datetime2(3) NULL,
    not_before datetime2(3) NULL,
    failures int NOT NULL CONSTRAINT call_clients_failures DEFAULT 0,
    failing_since datetime2(3) NULL,  -- no call was accepted since then
    message_at datetime2(3) NULL,     -- when its message becomes visible; null: none was sent
    call_ms int NULL                  -- duration of a recent call
);
GO
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.callbacks TO hibp_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.call_clients TO hibp_app;
