-- The progress of the replay into a layout; null: none has begun, or it has ended.
ALTER TABLE dbo.layouts ADD rebuild nvarchar(max) NULL;
