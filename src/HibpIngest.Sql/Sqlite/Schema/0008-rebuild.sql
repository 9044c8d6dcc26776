-- How far the replay of what a layout lacks is; null: none was begun, or it has ended.
ALTER TABLE layouts ADD COLUMN rebuild TEXT;
