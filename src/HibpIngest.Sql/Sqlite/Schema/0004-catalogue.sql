-- When what is told of a breach last changed.
ALTER TABLE breaches ADD COLUMN modified_at INTEGER;
UPDATE breaches SET modified_at = published_at;
