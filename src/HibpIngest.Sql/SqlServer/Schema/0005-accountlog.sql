-- What of a load is in the account log. Versions are catalogue_version as it stood when what the log tells of a
-- breach, or of a load, was last changed.
ALTER TABLE dbo.breaches ADD log_version bigint NOT NULL CONSTRAINT breaches_log DEFAULT 0;
ALTER TABLE dbo.loads ADD log_version bigint NOT NULL CONSTRAINT loads_log DEFAULT 0;
ALTER TABLE dbo.loads ADD logged_version bigint NULL;    -- what its newest document tells; null: the log doesn't count it
ALTER TABLE dbo.loads ADD log_message_at datetime2(3) NULL; -- when the message that has it logged was last sent
ALTER TABLE dbo.loads ADD log_error nvarchar(max) NULL;  -- why it isn't yet
GO
-- Recorded before the first of them is written, so that they are the same whenever they are written again.
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
