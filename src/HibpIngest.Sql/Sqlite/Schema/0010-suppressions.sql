-- Who is not to be told, whatever is imported: HMAC-SHA-256 in hex, never an address.
CREATE TABLE suppressions (
    hash TEXT NOT NULL PRIMARY KEY,
    reason TEXT NOT NULL,             -- unsubscribed, bounced, complaint, forgotten
    suppressed_at INTEGER NOT NULL
) WITHOUT ROWID;
ALTER TABLE store_counters ADD COLUMN suppression_check TEXT; -- of the key that they were made under
