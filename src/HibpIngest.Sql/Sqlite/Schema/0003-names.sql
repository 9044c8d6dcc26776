-- The columns' names are those of SQL Server's tables, so that one statement serves both. Nothing is rewritten
-- but the schema.
ALTER TABLE breaches RENAME COLUMN key TO breach_key;
ALTER TABLE loads RENAME COLUMN checkpoint TO checkpoint_json;
ALTER TABLE slices RENAME COLUMN load TO load_id;
ALTER TABLE slices RENAME COLUMN first TO first_position;
ALTER TABLE slices RENAME COLUMN last TO last_position;
ALTER TABLE slices RENAME COLUMN count TO row_count;
ALTER TABLE notifications RENAME COLUMN load TO load_id;
ALTER TABLE load_domains RENAME COLUMN load TO load_id;
