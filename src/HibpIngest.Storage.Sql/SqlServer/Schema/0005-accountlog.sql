-- The state of loads in the journal. A version is the catalogue_version at the last change of the data that
-- the log records of a breach or load.
ALTER TABLE dbo.breaches ADD log_version bigint NOT NULL CONSTRAINT breaches_log DEFAULT 0;
ALTER TABLE dbo.loads ADD log_version bigint NOT NULL CONSTRAINT loads_log DEFAULT 0;
ALTER TABLE dbo.loads ADD logged_version bigint NULL;    -- version of its newest document; null: it is not logged
ALTER TABLE dbo.loads ADD log_message_at datetime2(3) NULL; -- when the message to log it was last sent
ALTER TABLE dbo.loads ADD log_error nvarchar(max) NULL;  -- why logging it failed
GO
-- Recorded before the first segment is written, so that they are the same if they are written again.
CREATE TABLE dbo.log_segments (
    load_id bigint NOT NULL CONSTRAINT log_segments_load REFERENCES dbo.loads (id),
    number int NOT NULL,
    first_position bigint NOT NULL,
    last_position bigint NOT NULL,
    bytes bigint NULL,                -- null until it is written
    CONSTRAINT log_segments_key PRIMARY KEY (load_id, number)
);
GO
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.log_segments TO hibp_app;
