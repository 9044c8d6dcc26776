-- Times are UTC by the database's clock. Aliases and domains of accounts are varchar of lower-case ASCII in a
-- binary collation: compared bytewise, one byte per character. Parameters compared with them are varchar too, so
-- that nothing is converted. The program's own states, codes and names are varchar; external text is nvarchar.

IF OBJECT_ID('dbo.store_identity', 'U') IS NULL
CREATE TABLE dbo.store_identity (
    only_row int NOT NULL CONSTRAINT store_identity_key PRIMARY KEY CONSTRAINT store_identity_one CHECK (only_row = 1),
    id uniqueidentifier NOT NULL,
    partition_spread int NOT NULL,
    storage_accounts int NOT NULL
);
GO
IF OBJECT_ID('dbo.locks', 'U') IS NULL
CREATE TABLE dbo.locks (
    name varchar(100) NOT NULL CONSTRAINT locks_key PRIMARY KEY,
    owner nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
    expires_at datetime2(3) NOT NULL
);
GO
-- The highest breach id ever assigned. Property names in the account table are derived from the id, so an id is
-- never reused, not even after its breach was removed.
IF OBJECT_ID('dbo.breach_ids', 'U') IS NULL
CREATE TABLE dbo.breach_ids (
    only_row int NOT NULL CONSTRAINT breach_ids_key PRIMARY KEY CONSTRAINT breach_ids_one CHECK (only_row = 1),
    highest int NOT NULL,
    loads_removed bit NOT NULL          -- there were loads, even if there are none any more
);
GO
INSERT INTO dbo.breach_ids (only_row, highest, loads_removed) SELECT 1, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM dbo.breach_ids);
GO
IF OBJECT_ID('dbo.breaches', 'U') IS NULL
BEGIN
    CREATE TABLE dbo.breaches (
        breach_key int IDENTITY(1, 1) NOT NULL CONSTRAINT breaches_key PRIMARY KEY,
        folded_name nvarchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL CONSTRAINT breaches_by_name UNIQUE,
        name nvarchar(100) NOT NULL,
        id int NULL,                        -- null until the first batch has committed
        metadata nvarchar(max) NOT NULL,
        hidden bit NOT NULL CONSTRAINT breaches_hidden DEFAULT 0,
        published_at datetime2(3) NULL
    );
    CREATE UNIQUE INDEX breaches_by_id ON dbo.breaches (id) WHERE id IS NOT NULL;
END
GO
-- Identity: the id of a removed load is never reused, so that a late message can't reach another load.
IF OBJECT_ID('dbo.loads', 'U') IS NULL
BEGIN
    CREATE TABLE dbo.loads (
        id bigint IDENTITY(1, 1) NOT NULL CONSTRAINT loads_key PRIMARY KEY,
        breach int NOT NULL CONSTRAINT loads_of_breach REFERENCES dbo.breaches (breach_key),
        blob nvarchar(1024) NOT NULL,
        etag nvarchar(256) NOT NULL,
        blob_version binary(32) NOT NULL,   -- SHA-256 of blob and etag, which together exceed the size of a key
        generation int NOT NULL,            -- counts the restarts of a blob version
        superseded_by bigint NULL,          -- the load it was restarted as
        state varchar(10) NOT NULL,
        failed_in varchar(10) NULL,         -- the state in which a failed load resumes
        error nvarchar(max) NULL,
        settings nvarchar(max) NOT NULL,
        checkpoint_json nvarchar(max) NOT NULL,
        accounts bigint NOT NULL CONSTRAINT loads_accounts DEFAULT 0,
        last_position bigint NOT NULL CONSTRAINT loads_last_position DEFAULT 0,
        matched_position bigint NOT NULL CONSTRAINT loads_matched_position DEFAULT 0,
        purged_position bigint NOT NULL CONSTRAINT loads_purged_position DEFAULT 0,
        -- Subscriptions made after matching began are not matched: they would see only part of the rows.
        last_subscriber bigint NOT NULL CONSTRAINT loads_last_subscriber DEFAULT 0,
        batches int NOT NULL CONSTRAINT loads_batches DEFAULT 0,
        slices int NOT NULL CONSTRAINT loads_slices DEFAULT 0,
        ingest_complete bit NOT NULL CONSTRAINT loads_ingest_complete DEFAULT 0,
        duplicates_possible bit NOT NULL CONSTRAINT loads_duplicates_possible DEFAULT 0,
        purging bit NOT NULL CONSTRAINT loads_purging DEFAULT 0,                    -- some rows are deleted already
        purged bit NOT NULL CONSTRAINT loads_purged DEFAULT 0,
        owner nvarchar(400) COLLATE Latin1_General_100_BIN2 NULL,
        lease_expires_at datetime2(3) NULL,
        started_at datetime2(3) NOT NULL,
        ingested_at datetime2(3) NULL,
        upserted_at datetime2(3) NULL,
        finished_at datetime2(3) NULL,
        CONSTRAINT loads_by_blob UNIQUE (blob_version, generation)
    );
    CREATE INDEX loads_by_breach ON dbo.loads (breach, state);
END
GO
-- A load's rows are stored together, ordered by position: ingesting appends, a slice is one range scan, and no
-- second index is needed, which would cost the copy most of its rate.
IF OBJECT_ID('dbo.rows', 'U') IS NULL
CREATE TABLE dbo.rows (
    load_id bigint NOT NULL,
    position bigint NOT NULL,
    alias varchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    domain varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT rows_key PRIMARY KEY CLUSTERED (load_id, position)
);
GO
IF OBJECT_ID('dbo.slices', 'U') IS NULL
BEGIN
    CREATE TABLE dbo.slices (
        load_id bigint NOT NULL CONSTRAINT slices_of_load REFERENCES dbo.loads (id),
        number int NOT NULL,
        first_position bigint NOT NULL,
        last_position bigint NOT NULL,
        row_count int NOT NULL,
        state varchar(10) NOT NULL,
        attempts int NOT NULL CONSTRAINT slices_attempts DEFAULT 0,
        entities int NOT NULL CONSTRAINT slices_entities DEFAULT 0,
        error nvarchar(max) NULL,
        pending_since datetime2(3) NOT NULL,
        queued_at datetime2(3) NULL,
        done_at datetime2(3) NULL,
        CONSTRAINT slices_key PRIMARY KEY CLUSTERED (load_id, number)
    );
    -- Makes the check "is any slice not done", which runs after each finished slice, one probe.
    CREATE INDEX slices_undone ON dbo.slices (load_id, state) WHERE state <> 'done';
END
GO
-- Keyed by the SHA-256 of the blob's name, because a password is stored before its load exists.
IF OBJECT_ID('dbo.passwords', 'U') IS NULL
CREATE TABLE dbo.passwords (
    blob binary(32) NOT NULL CONSTRAINT passwords_key PRIMARY KEY,
    sealed varbinary(max) NOT NULL
);
GO
IF OBJECT_ID('dbo.subscribers', 'U') IS NULL
BEGIN
    CREATE TABLE dbo.subscribers (
        id bigint IDENTITY(1, 1) NOT NULL CONSTRAINT subscribers_key PRIMARY KEY,
        email nvarchar(320) COLLATE Latin1_General_100_BIN2 NOT NULL,
        domain nvarchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,         -- empty: the subscriber's own address
        match_domain varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,    -- the domain of the accounts it matches,
        match_alias varchar(64) COLLATE Latin1_General_100_BIN2 NULL,          -- and the alias; null: all of them
        CONSTRAINT subscribers_by_name UNIQUE (email, domain)
    );
    -- Matching reads each of these two indexes once per range of rows.
    CREATE INDEX subscribers_of_addresses ON dbo.subscribers (match_domain, match_alias, id) WHERE match_alias IS NOT NULL;
    CREATE INDEX subscribers_of_domains ON dbo.subscribers (match_domain, id) WHERE match_alias IS NULL;
END
GO
-- A subscription has one kind and one domain, so that (breach, subscriber) identifies a notification's unique
-- (kind, subscriber, domain, breach).
IF OBJECT_ID('dbo.notifications', 'U') IS NULL
BEGIN
    CREATE TABLE dbo.notifications (
        id bigint IDENTITY(1, 1) NOT NULL CONSTRAINT notifications_key PRIMARY KEY,
        breach int NOT NULL CONSTRAINT notifications_of_breach REFERENCES dbo.breaches (breach_key),
        subscriber bigint NOT NULL CONSTRAINT notifications_of_subscriber REFERENCES dbo.subscribers (id),
        load_id bigint NOT NULL CONSTRAINT notifications_of_load REFERENCES dbo.loads (id),
        number int NULL,                    -- null until matching has ended
        accounts bigint NOT NULL,
        state varchar(10) NOT NULL,
        claim_owner nvarchar(400) COLLATE Latin1_General_100_BIN2 NULL,
        claim_expires_at datetime2(3) NULL,
        error nvarchar(max) NULL,
        completed_at datetime2(3) NULL,
        CONSTRAINT notifications_by_subscriber UNIQUE (breach, subscriber)
    );
    CREATE INDEX notifications_by_load ON dbo.notifications (load_id, number);
    CREATE INDEX notifications_by_state ON dbo.notifications (load_id, state);
END
GO
-- The number of a load's rows in a subscribed domain, among the rows matched so far.
IF OBJECT_ID('dbo.load_domains', 'U') IS NULL
CREATE TABLE dbo.load_domains (
    load_id bigint NOT NULL CONSTRAINT load_domains_of_load REFERENCES dbo.loads (id),
    domain varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    accounts bigint NOT NULL,
    CONSTRAINT load_domains_key PRIMARY KEY CLUSTERED (load_id, domain)
);
GO
-- Otherwise a copy of 20,000 rows, a purge or a requeue would escalate its row locks to a table lock at 5,000,
-- and block every other load's copy. By EXEC, for servers whose T-SQL lacks this option.
IF SERVERPROPERTY('BabelfishVersion') IS NULL
    EXEC('ALTER TABLE dbo.rows SET (LOCK_ESCALATION = DISABLE); ALTER TABLE dbo.slices SET (LOCK_ESCALATION = DISABLE);
        ALTER TABLE dbo.notifications SET (LOCK_ESCALATION = DISABLE)');
GO
-- The role of the app's identity: it reads and writes rows, and alters no table. (ALTER ROLE hibp_app ADD
-- MEMBER [identity])
IF DATABASE_PRINCIPAL_ID('hibp_app') IS NULL CREATE ROLE hibp_app;
GO
GRANT SELECT ON dbo.hibp_schema TO hibp_app;
GRANT SELECT, INSERT ON dbo.store_identity TO hibp_app;
GRANT SELECT, UPDATE ON dbo.breach_ids TO hibp_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.locks TO hibp_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.breaches TO hibp_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.loads TO hibp_app;
GRANT SELECT, INSERT, DELETE ON dbo.rows TO hibp_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.slices TO hibp_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.passwords TO hibp_app;
GRANT SELECT, INSERT ON dbo.subscribers TO hibp_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.notifications TO hibp_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.load_domains TO hibp_app;
