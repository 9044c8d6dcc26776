-- How accounts lie in the tables. Every slice is written in all of these; a try that has begun before the set
-- was changed is done again.
CREATE TABLE layouts (
    id INTEGER PRIMARY KEY,
    facts TEXT NOT NULL,     -- what never changes, as JSON
    ranges INTEGER NOT NULL, -- 0 off, 1 filling, 2 on; it only rises
    fill TEXT                -- how far the account table has been walked, while filling
);
ALTER TABLE store_counters ADD COLUMN layout_version INTEGER NOT NULL DEFAULT 0; -- of the set
ALTER TABLE slices ADD COLUMN layout_version INTEGER NOT NULL DEFAULT 0; -- of the set that done_transactions write
