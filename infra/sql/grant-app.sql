-- Lets the app's managed identity into the database, in role hibp_app (which the schema makes) and no other. deploy.sh runs it after `hibp database upgrade`:
--   sqlcmd -S SERVER -d hibp --authentication-method ActiveDirectoryAzCli -b -i grant-app.sql -v AppName=hibp-app -v AppClientId=GUID
-- May be run again. By SID (an Entra application's client id) rather than FROM EXTERNAL PROVIDER, which would need directory rights:
-- learn.microsoft.com/sql/t-sql/statements/create-user-transact-sql
SET NOCOUNT ON;

DECLARE @name sysname = N'$(AppName)';
DECLARE @sid varbinary(16) = CAST(CAST('$(AppClientId)' AS uniqueidentifier) AS varbinary(16));
DECLARE @sql nvarchar(max);

IF DATABASE_PRINCIPAL_ID('hibp_app') IS NULL
    THROW 50000, 'role hibp_app is not there: run hibp database upgrade first', 1;

-- An identity that was deleted and made again has the same name and another SID.
IF EXISTS (SELECT 1 FROM sys.database_principals WHERE name = @name AND sid <> @sid)
BEGIN
    SET @sql = N'DROP USER ' + QUOTENAME(@name);
    EXEC (@sql);
END;

IF DATABASE_PRINCIPAL_ID(@name) IS NULL
BEGIN
    SET @sql = N'CREATE USER ' + QUOTENAME(@name) + N' WITH SID = ' + CONVERT(varchar(64), @sid, 1) + N', TYPE = E';
    EXEC (@sql);
END;

SET @sql = N'ALTER ROLE hibp_app ADD MEMBER ' + QUOTENAME(@name);
EXEC (@sql);
PRINT @name + N' is in role hibp_app';
