-- Grants an identity access to the database: it becomes a member of hibp_app, the role that the schema
-- creates, and of no other role. deploy.sh runs this script after `hibp database upgrade`, for the app and
-- for the operator:
--   sqlcmd -S SERVER -d hibp --authentication-method ActiveDirectoryAzCli -b -i grant.sql -v Name=hibp-app -v Id=GUID -v Kind=E
-- Id: the object id of a user or group, or the client id of an application or managed identity. Kind: X for a
-- group, E for all others. The script is idempotent. It creates the user by SID, because FROM EXTERNAL
-- PROVIDER needs directory permissions: learn.microsoft.com/sql/t-sql/statements/create-user-transact-sql
SET NOCOUNT ON;

DECLARE @name sysname = N'$(Name)';
DECLARE @sid varbinary(16) = CAST(CAST('$(Id)' AS uniqueidentifier) AS varbinary(16));
DECLARE @sql nvarchar(max);

IF DATABASE_PRINCIPAL_ID('hibp_app') IS NULL
    THROW 50000, 'role hibp_app does not exist: run hibp database upgrade first', 1;
IF '$(Kind)' NOT IN ('E', 'X')
    THROW 50000, 'Kind: expected E (user or application) or X (group)', 1;

-- An identity that was deleted and recreated has the same name but a different SID.
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
