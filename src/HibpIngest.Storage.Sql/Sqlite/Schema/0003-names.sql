-- Renames columns to those of SQL Server's tables, so that both use the same statements. Only the schema is
-- rewritten.
ALTER TABLE breaches RENAME COLUMN key TO breach_key;
ALTER TABLE loads RENAME COLUMN checkpoint TO checkpoint_json;
ALTER TABLE slices RENAME COLUMN load TO load_id;
ALTER TABLE slices RENAME COLUMN first TO first_position;
ALTER TABLE slices RENAME COLUMN last TO last_position;
ALTER TABLE slices RENAME COLUMN count TO row_count;
ALTER TABLE notifications RENAME COLUMN load TO load_id;
ALTER TABLE load_domains RENAME COLUMN load TO load_id;
