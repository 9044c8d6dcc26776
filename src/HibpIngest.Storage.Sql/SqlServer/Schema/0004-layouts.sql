-- How accounts are placed in the tables. Every slice is written to all of these layouts; an attempt that began
-- before the set changed is repeated.
CREATE TABLE dbo.layouts (
    id int NOT NULL CONSTRAINT layouts_key PRIMARY KEY,
    facts nvarchar(max) NOT NULL, -- the immutable properties, as JSON
    ranges int NOT NULL,          -- 0 off, 1 backfilling, 2 on; never lowered
    fill nvarchar(max) NULL       -- the position in the account table during the backfill
);
GO
ALTER TABLE dbo.store_counters ADD layout_version int NOT NULL CONSTRAINT store_counters_layouts DEFAULT 0; -- version of the set
ALTER TABLE dbo.slices ADD layout_version int NOT NULL CONSTRAINT slices_layouts DEFAULT 0; -- the set that done_transactions refer to
GO
GRANT SELECT, INSERT, UPDATE ON dbo.layouts TO hibp_app;
