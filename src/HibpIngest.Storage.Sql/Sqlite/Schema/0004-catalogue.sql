-- When a breach's published data last changed.
ALTER TABLE breaches ADD COLUMN modified_at INTEGER;
UPDATE breaches SET modified_at = published_at;
