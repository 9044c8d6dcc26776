-- Several layouts. A dropped layout keeps its row, so that its name is never reused.
ALTER TABLE layouts ADD COLUMN added_version INTEGER NOT NULL DEFAULT 0; -- version of the set from which on every slice is written to it
ALTER TABLE layouts ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;

-- Rows that a replay has written to a layout, for slices that were done before the layout was added.
CREATE TABLE layout_loads (
    layout_id INTEGER NOT NULL REFERENCES layouts (id),
    load_id INTEGER NOT NULL REFERENCES loads (id),
    row_count INTEGER NOT NULL,
    PRIMARY KEY (layout_id, load_id)
) WITHOUT ROWID;
CREATE INDEX layout_loads_load ON layout_loads (load_id);
