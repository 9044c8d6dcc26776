-- Names a subscription in links; random.
ALTER TABLE dbo.subscribers ADD link_id uniqueidentifier NOT NULL CONSTRAINT subscribers_link DEFAULT NEWID();
ALTER TABLE dbo.subscribers ADD unknown_count int NOT NULL CONSTRAINT subscribers_unknown DEFAULT 0; -- mails refused in a row, because the address is unknown
GO
CREATE UNIQUE INDEX subscribers_by_link ON dbo.subscribers (link_id);
-- Subscriptions that nobody has verified yet, and domains that the owners of API keys prove by mail.
CREATE TABLE dbo.subscription_requests (
    link_id uniqueidentifier NOT NULL CONSTRAINT subscription_requests_key PRIMARY KEY, -- of the subscription that it becomes
    email nvarchar(320) COLLATE Latin1_General_100_BIN2 NOT NULL,
    domain nvarchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL, -- empty: the address itself
    api_key varchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,  -- hash of the API key that gets the domain; empty: it becomes a subscription
    proof varchar(20) COLLATE Latin1_General_100_BIN2 NOT NULL,    -- how the domain is proven; empty: there is none
    expires_at datetime2(3) NOT NULL,
    CONSTRAINT subscription_requests_by_email UNIQUE (email, domain, api_key)
);
CREATE INDEX subscription_requests_expired ON dbo.subscription_requests (expires_at);
-- Mails that requests caused, for limits. A key is a hash of an address, network or domain, or a word.
CREATE TABLE dbo.request_mails (
    limit_key varchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    sent_at datetime2(3) NOT NULL
);
CREATE CLUSTERED INDEX request_mails_by_key ON dbo.request_mails (limit_key, sent_at);
CREATE INDEX request_mails_by_age ON dbo.request_mails (sent_at);
-- Commands that were applied, so that a repeated one changes nothing.
CREATE TABLE dbo.commands (
    id uniqueidentifier NOT NULL CONSTRAINT commands_key PRIMARY KEY,
    link_id uniqueidentifier NOT NULL,
    applied_at datetime2(3) NOT NULL,
    mailed_at datetime2(3) NULL        -- null: its mail is due
);
CREATE INDEX commands_by_age ON dbo.commands (applied_at);
-- Domains that their owners have proven.
CREATE TABLE dbo.domain_proofs (
    holder varchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,   -- hash of an API key, or link_id of a subscription
    domain varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    kind varchar(20) COLLATE Latin1_General_100_BIN2 NOT NULL,     -- dns, file, or the mailbox of the domain that got a mail
    checked_at datetime2(3) NOT NULL,
    failed_at datetime2(3) NULL,       -- null: the last check succeeded
    CONSTRAINT domain_proofs_key PRIMARY KEY (holder, domain)
);
GO
GRANT UPDATE ON dbo.subscribers TO hibp_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.subscription_requests TO hibp_app;
GRANT SELECT, INSERT, DELETE ON dbo.request_mails TO hibp_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.domain_proofs TO hibp_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.commands TO hibp_app;
