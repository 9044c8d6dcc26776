-- How accounts lie in the tables. Every slice is written in all of these; a try that has begun before the set
-- was changed is done again.
CREATE TABLE dbo.layouts (
    id int NOT NULL CONSTRAINT layouts_key PRIMARY KEY,
    facts nvarchar(max) NOT NULL, -- what never changes, as JSON
    ranges int NOT NULL,          -- 0 off, 1 filling, 2 on; it only rises
    fill nvarchar(max) NULL       -- how far the account table has been walked, while filling
);
GO
ALTER TABLE dbo.store_counters ADD layout_version int NOT NULL CONSTRAINT store_counters_layouts DEFAULT 0; -- of the set
ALTER TABLE dbo.slices ADD layout_version int NOT NULL CONSTRAINT slices_layouts DEFAULT 0; -- of the set that done_transactions write
GO
GRANT SELECT, INSERT, UPDATE ON dbo.layouts TO hibp_app;
