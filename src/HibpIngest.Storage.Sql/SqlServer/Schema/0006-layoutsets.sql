-- Several layouts. A dropped layout keeps its row, so that its name is never reused.
-- The version of the set from which on every slice is written to the layout.
ALTER TABLE dbo.layouts ADD added_version int NOT NULL CONSTRAINT layouts_added DEFAULT 0;
ALTER TABLE dbo.layouts ADD dropped bit NOT NULL CONSTRAINT layouts_dropped DEFAULT 0;
GO
-- Rows that a replay has written to a layout, for slices that were done before the layout was added.
CREATE TABLE dbo.layout_loads (
    layout_id int NOT NULL CONSTRAINT layout_loads_layout REFERENCES dbo.layouts (id),
    load_id bigint NOT NULL CONSTRAINT layout_loads_load REFERENCES dbo.loads (id),
    row_count bigint NOT NULL,
    CONSTRAINT layout_loads_key PRIMARY KEY (layout_id, load_id)
);
CREATE INDEX layout_loads_loads ON dbo.layout_loads (load_id);
GO
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.layout_loads TO hibp_app;
