-- Subscribers who must not be notified, even if they are imported again: HMAC-SHA-256 in hex, never an address.
CREATE TABLE dbo.suppressions (
    hash varchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL CONSTRAINT suppressions_key PRIMARY KEY,
    reason varchar(20) NOT NULL,              -- unsubscribed, bounced, complaint, forgotten
    suppressed_at datetime2(3) NOT NULL
);
ALTER TABLE dbo.store_counters ADD suppression_check varchar(64) COLLATE Latin1_General_100_BIN2 NULL; -- identifies the key of these hashes
-- Removing a subscription removes its notifications.
CREATE INDEX notifications_of_subscriptions ON dbo.notifications (subscriber);
GO
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.suppressions TO hibp_app;
GRANT DELETE ON dbo.subscribers TO hibp_app;
