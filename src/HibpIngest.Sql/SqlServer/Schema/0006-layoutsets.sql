-- Several layouts. One that was dropped keeps its row, so that its name is never given again.
-- From this version of the set on every slice is written in it.
ALTER TABLE dbo.layouts ADD added_version int NOT NULL CONSTRAINT layouts_added DEFAULT 0;
ALTER TABLE dbo.layouts ADD dropped bit NOT NULL CONSTRAINT layouts_dropped DEFAULT 0;
GO
-- What was written in a layout behind its slices: those of a load that had been done before the layout was added.
CREATE TABLE dbo.layout_loads (
    layout_id int NOT NULL CONSTRAINT layout_loads_layout REFERENCES dbo.layouts (id),
    load_id bigint NOT NULL CONSTRAINT layout_loads_load REFERENCES dbo.loads (id),
    row_count bigint NOT NULL,
    CONSTRAINT layout_loads_key PRIMARY KEY (layout_id, load_id)
);
CREATE INDEX layout_loads_loads ON dbo.layout_loads (load_id);
GO
GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.layout_loads TO hibp_app;
