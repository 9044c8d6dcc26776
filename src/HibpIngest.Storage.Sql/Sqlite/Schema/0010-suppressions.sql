-- Subscribers who must not be notified, even if they are imported again: HMAC-SHA-256 in hex, never an address.
CREATE TABLE suppressions (
    hash TEXT NOT NULL PRIMARY KEY,
    reason TEXT NOT NULL,             -- unsubscribed, bounced, complaint, forgotten
    suppressed_at INTEGER NOT NULL
) WITHOUT ROWID;
ALTER TABLE store_counters ADD COLUMN suppression_check TEXT; -- identifies the key of these hashes
