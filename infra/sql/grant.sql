-- Lets an identity into the database, in role hibp_app (which the schema makes) and no other. deploy.sh runs it after `hibp database upgrade`, for the
-- app and for whoever runs hibp:
--   sqlcmd -S SERVER -d hibp --authentication-method ActiveDirectoryAzCli -b -i grant.sql -v Name=hibp-app -v Id=GUID -v Kind=E
-- Id: of a user or a group its object id, of an application (a managed identity too) its client id. Kind: X for a group, E for the others.
-- May be run again. By SID rather than FROM EXTERNAL PROVIDER, which would need directory rights: learn.microsoft.com/sql/t-sql/statements/create-user-transact-sql
SET NOCOUNT ON;

DECLARE @name sysname = N'$(Name)';
DECLARE @sid varbinary(16) = CAST(CAST('$(Id)' AS uniqueidentifier) AS varbinary(16));
DECLARE @sql nvarchar(max);

IF DATABASE_PRINCIPAL_ID('hibp_app') IS NULL
    THROW 50000, 'role hibp_app is not there: run hibp database upgrade first', 1;
IF '$(Kind)' NOT IN ('E', 'X')
    THROW 50000, 'Kind is expected to be E (user, application) or X (group)', 1;

-- An identity that was deleted and made again has the same name and another SID.
IF EXISTS (SELECT 1 FROM sys.database_principals WHERE name = @name AND sid <> @sid)
BEGIN
    SET @sql = N'DROP USER ' + QUOTENAME(@name);
    EXEC (@sql);
END;

IF DATABASE_PRINCIPAL_ID(@name) IS NULL
BEGIN
    SET @sql = N'CREATE USER ' + QUOTENAME(@name) + N' WITH SID = ' + CONVERT(varchar(64), @sid, 1) + N', TYPE = $(Kind)';
    EXEC (@sql);
END;

SET @sql = N'ALTER ROLE hibp_app ADD MEMBER ' + QUOTENAME(@name);
EXEC (@sql);
PRINT @name + N' is in role hibp_app';
