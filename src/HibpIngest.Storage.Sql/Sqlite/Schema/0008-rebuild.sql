-- The progress of the replay into a layout; null: none has begun, or it has ended.
ALTER TABLE layouts ADD COLUMN rebuild TEXT;
