-- Marks belong to loads. Ids of loads and marks are drawn from the store register and inserted as they are, so
-- the table of loads is recreated without its identity.

-- The highest ids ever inserted, never lowered by a removal. They reveal a database restored from a backup.
CREATE TABLE dbo.store_counters (
    only_row int NOT NULL CONSTRAINT store_counters_key PRIMARY KEY CONSTRAINT store_counters_one CHECK (only_row = 1),
    highest_load bigint NOT NULL,
    highest_mark int NOT NULL,
    catalogue_version bigint NOT NULL   -- raised by each change that readers can see
);
GO
INSERT INTO dbo.store_counters (only_row, highest_load, highest_mark, catalogue_version)
SELECT 1, CASE WHEN loads_removed = 1 OR EXISTS (SELECT 1 FROM dbo.loads)
    THEN COALESCE(CAST(IDENT_CURRENT('dbo.loads') AS bigint), 0) ELSE 0 END, highest, 0
FROM dbo.breach_ids;
GO
SELECT * INTO dbo.loads_of_1 FROM dbo.loads;
GO
ALTER TABLE dbo.slices DROP CONSTRAINT slices_of_load;
ALTER TABLE dbo.notifications DROP CONSTRAINT notifications_of_load;
ALTER TABLE dbo.load_domains DROP CONSTRAINT load_domains_of_load;
DROP TABLE dbo.loads;
GO
CREATE TABLE dbo.loads (
    id bigint NOT NULL CONSTRAINT loads_key PRIMARY KEY,
    breach int NOT NULL CONSTRAINT loads_of_breach REFERENCES dbo.breaches (breach_key),
    blob nvarchar(1024) NOT NULL,
    etag nvarchar(256) NOT NULL,
    blob_version binary(32) NOT NULL,   -- SHA-256 of blob and etag, which together exceed the size of a key
    generation int NOT NULL,            -- counts the restarts of a blob version
    superseded_by bigint NULL,          -- the load it was restarted as
    superseded bit NOT NULL CONSTRAINT loads_superseded DEFAULT 0,   -- its blob was replaced while it was read: it can't resume
    removing bit NOT NULL CONSTRAINT loads_removing DEFAULT 0,       -- it is being removed
    removal_token nvarchar(max) NULL,   -- the progress of its removal from the account table, if its rows were purged
    mark int NULL,                      -- null until the first batch has committed
    published_at datetime2(3) NULL,     -- when its mark was published; null: not published
    replaced_by bigint NULL,            -- the load of the same blob name that was published in its place
    state varchar(10) NOT NULL,
    failed_in varchar(10) NULL,         -- the state in which a failed load resumes
    held_because nvarchar(max) NULL,    -- why its mails wait for an operator, regardless of its metadata
    error nvarchar(max) NULL,
    attempts int NOT NULL CONSTRAINT loads_attempts DEFAULT 0,       -- attempts since its last progress
    settings nvarchar(max) NOT NULL,
    checkpoint_json nvarchar(max) NOT NULL,
    accounts bigint NOT NULL CONSTRAINT loads_accounts DEFAULT 0,
    last_position bigint NOT NULL CONSTRAINT loads_last_position DEFAULT 0,
    matched_position bigint NOT NULL CONSTRAINT loads_matched_position DEFAULT 0,
    purged_position bigint NOT NULL CONSTRAINT loads_purged_position DEFAULT 0,
    -- Subscriptions made after matching began are not matched: they would see only part of the rows.
    last_subscriber bigint NOT NULL CONSTRAINT loads_last_subscriber DEFAULT 0,
    count_parts int NOT NULL CONSTRAINT loads_count_parts DEFAULT 0,            -- parts of the exact count; 0: not begun
    counted_parts int NOT NULL CONSTRAINT loads_counted_parts DEFAULT 0,        -- parts counted so far,
    counted bigint NOT NULL CONSTRAINT loads_counted DEFAULT 0,                 -- and their accounts
    -- Domain subscriptions up to this id have their notifications.
    told_subscriber bigint NOT NULL CONSTRAINT loads_told_subscriber DEFAULT 0,
    mails_queued int NOT NULL CONSTRAINT loads_mails_queued DEFAULT 0,          -- notifications up to this number have a message
    batches int NOT NULL CONSTRAINT loads_batches DEFAULT 0,
    slices int NOT NULL CONSTRAINT loads_slices DEFAULT 0,
    ingest_complete bit NOT NULL CONSTRAINT loads_ingest_complete DEFAULT 0,
    duplicates_possible bit NOT NULL CONSTRAINT loads_duplicates_possible DEFAULT 0,
    purging bit NOT NULL CONSTRAINT loads_purging DEFAULT 0,                    -- some rows are deleted already
    purged bit NOT NULL CONSTRAINT loads_purged DEFAULT 0,
    owner nvarchar(400) COLLATE Latin1_General_100_BIN2 NULL,
    lease_expires_at datetime2(3) NULL,
    message_sent_at datetime2(3) NULL,  -- when the message of its state was last sent
    started_at datetime2(3) NOT NULL,
    ingested_at datetime2(3) NULL,
    upserted_at datetime2(3) NULL,
    finished_at datetime2(3) NULL,
    CONSTRAINT loads_by_version UNIQUE (blob_version, generation)
);
GO
CREATE INDEX loads_by_breach ON dbo.loads (breach, state);
GO
-- The one id of all loads of a breach becomes the mark of each of them.
INSERT INTO dbo.loads (
    id, breach, blob, etag, blob_version, generation, superseded_by, mark, published_at, state, failed_in, error,
    settings, checkpoint_json, accounts, last_position, matched_position, purged_position, last_subscriber, batches,
    slices, ingest_complete, duplicates_possible, purging, purged, started_at, ingested_at, upserted_at, finished_at)
SELECT l.id, l.breach, l.blob, l.etag, l.blob_version, l.generation, l.superseded_by,
    CASE WHEN l.last_position > 0 THEN b.id END, CASE WHEN l.last_position > 0 AND b.id IS NOT NULL THEN b.published_at END,
    l.state, l.failed_in, l.error, l.settings, l.checkpoint_json, l.accounts, l.last_position, l.matched_position,
    l.purged_position, l.last_subscriber, l.batches, l.slices, l.ingest_complete, l.duplicates_possible, l.purging,
    l.purged, l.started_at, l.ingested_at, l.upserted_at, l.finished_at
FROM dbo.loads_of_1 l JOIN dbo.breaches b ON b.breach_key = l.breach;
GO
DROP TABLE dbo.loads_of_1;
DROP TABLE dbo.breach_ids;
DROP INDEX breaches_by_id ON dbo.breaches;
ALTER TABLE dbo.breaches DROP COLUMN id;
ALTER TABLE dbo.slices ADD CONSTRAINT slices_of_load FOREIGN KEY (load_id) REFERENCES dbo.loads (id);
ALTER TABLE dbo.notifications ADD CONSTRAINT notifications_of_load FOREIGN KEY (load_id) REFERENCES dbo.loads (id);
ALTER TABLE dbo.load_domains ADD CONSTRAINT load_domains_of_load FOREIGN KEY (load_id) REFERENCES dbo.loads (id);
GO
ALTER TABLE dbo.slices ADD owner nvarchar(400) COLLATE Latin1_General_100_BIN2 NULL;
ALTER TABLE dbo.slices ADD lease_expires_at datetime2(3) NULL;
ALTER TABLE dbo.slices ADD active_at datetime2(3) NULL;         -- when it was last begun, renewed or ended
ALTER TABLE dbo.slices ADD done_transactions varbinary(max) NULL; -- one bit per transaction, in order: set if it is done
ALTER TABLE dbo.slices ADD order_version int NOT NULL CONSTRAINT slices_order_version DEFAULT 0; -- version of their order
GO
-- Makes the check "is this load being processed" one probe.
CREATE INDEX slices_by_activity ON dbo.slices (load_id, active_at);
GO
-- A password belongs to one version of a blob; an empty etag: to the version that is being dropped. Old passwords
-- are sealed for a name instead of a version: they can't be opened any more, and no load is open.
DROP TABLE dbo.passwords;
GO
CREATE TABLE dbo.passwords (
    blob_version binary(32) NOT NULL CONSTRAINT passwords_key PRIMARY KEY,
    sealed varbinary(max) NOT NULL
);
GO
ALTER TABLE dbo.notifications ADD attempts int NOT NULL CONSTRAINT notifications_attempts DEFAULT 0; -- claims since its last deferral
ALTER TABLE dbo.notifications ADD not_before datetime2(3) NULL; -- deferred until then at the request of the recipient's server
ALTER TABLE dbo.notifications ADD deferrals int NOT NULL CONSTRAINT notifications_deferrals DEFAULT 0; -- number of deferrals
ALTER TABLE dbo.notifications ADD deferred_since datetime2(3) NULL; -- time of the first of them
GO
ALTER TABLE dbo.load_domains ADD exact bigint NULL; -- distinct accounts counted so far
GO
-- Make the checks "which is sent next" and "which are due" one probe each.
CREATE INDEX notifications_waiting ON dbo.notifications (load_id, number) WHERE state = 'open' AND not_before IS NULL;
CREATE INDEX notifications_deferred ON dbo.notifications (load_id, not_before) WHERE state = 'open' AND not_before IS NOT NULL;
GO
-- The earliest time of the whole system's next mail.
CREATE TABLE dbo.mail_rate (
    only_row int NOT NULL CONSTRAINT mail_rate_key PRIMARY KEY CONSTRAINT mail_rate_one CHECK (only_row = 1),
    next_at datetime2(3) NOT NULL
);
GO
INSERT INTO dbo.mail_rate (only_row, next_at) VALUES (1, '2000-01-01');
GO
GRANT SELECT, UPDATE ON dbo.store_counters TO hibp_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.loads TO hibp_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.passwords TO hibp_app;
GRANT SELECT, UPDATE ON dbo.mail_rate TO hibp_app;
