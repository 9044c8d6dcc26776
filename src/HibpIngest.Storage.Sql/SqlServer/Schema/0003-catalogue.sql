-- When a breach's published data last changed.
ALTER TABLE dbo.breaches ADD modified_at datetime2(3) NULL;
GO
UPDATE dbo.breaches SET modified_at = published_at;
