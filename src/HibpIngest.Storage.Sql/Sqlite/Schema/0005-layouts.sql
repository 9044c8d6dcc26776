-- How accounts are placed in the tables. Every slice is written to all of these layouts; an attempt that began
-- before the set changed is repeated.
CREATE TABLE layouts (
    id INTEGER PRIMARY KEY,
    facts TEXT NOT NULL,     -- the immutable properties, as JSON
    ranges INTEGER NOT NULL, -- 0 off, 1 backfilling, 2 on; never lowered
    fill TEXT                -- the position in the account table during the backfill
);
ALTER TABLE store_counters ADD COLUMN layout_version INTEGER NOT NULL DEFAULT 0; -- version of the set
ALTER TABLE slices ADD COLUMN layout_version INTEGER NOT NULL DEFAULT 0; -- the set that done_transactions refer to
