using Azure.Core;
using Azure.Identity;
using Microsoft.Data.SqlClient;

namespace HibpIngest.Storage.Sql.SqlServer;

/// <summary>
/// Makes connections from a connection string, which sign in by user and password or by an Entra token. Errors never quote the string: it
/// may hold a password.
/// </summary>
internal sealed class SqlServerConnections
{
    private const string Expected =
        "expected Server=...;Database=..., and User ID and Password unless an Entra identity signs in "
        + "(a value that contains ';' or '=' must be quoted)";

    // A paused serverless database takes up to a minute to resume. With the driver's default of 15 seconds, each start would log up to
    // three failed attempts first.
    private const int ConnectTimeoutSeconds = 30;

    // A renewal is one short statement.
    private const int RenewalPoolSize = 4;

    private readonly string _connectionString;
    private readonly string _renewalConnectionString;
    private readonly Func<SqlAuthenticationParameters, CancellationToken, Task<SqlAuthenticationToken>>? _getToken;

    private SqlServerConnections(SqlConnectionStringBuilder settings, TokenCredential? credential)
    {
        DisplayName = $"{settings.DataSource}/{settings.InitialCatalog}";
        CommandTimeout = TimeSpan.FromSeconds(settings.CommandTimeout);
        _connectionString = settings.ConnectionString;
        // A different string has a pool of its own: renewals never wait for a connection that a copy or a slice holds.
        _renewalConnectionString = new SqlConnectionStringBuilder(_connectionString)
        {
            ApplicationName = $"{settings.ApplicationName} renewals",
            MinPoolSize = 0,
            MaxPoolSize = RenewalPoolSize,
        }.ConnectionString;
        if (credential is null)
            return;
        // One delegate for all connections, because the pool distinguishes them by it. The credential caches and renews tokens.
        _getToken = async (parameters, cancellationToken) =>
        {
            var scope = $"{parameters.Resource.TrimEnd('/')}/.default";
            var token = await credential.GetTokenAsync(new TokenRequestContext([scope]), cancellationToken);
            return new SqlAuthenticationToken(token.Token, token.ExpiresOn);
        };
    }

    public string DisplayName { get; }

    public TimeSpan CommandTimeout { get; }

    public bool UsesTokens => _getToken is not null;

    /// <param name="connectionString">In the syntax of Microsoft.Data.SqlClient. Without User ID and Password, or with Authentication
    /// "Active Directory Default" or "Active Directory Managed Identity" (User ID: its client id), an Entra identity signs in.</param>
    /// <param name="createCredential">Factory for tests; null for the credentials of Azure.Identity.</param>
    /// <exception cref="BadInputException">The connection string is malformed, or requests something unsupported.</exception>
    public static SqlServerConnections Parse(string connectionString, CredentialFactory? createCredential = null)
    {
        SqlConnectionStringBuilder settings;
        try
        {
            settings = new SqlConnectionStringBuilder(connectionString);
        }
        catch (Exception e) when (
            e is ArgumentException or FormatException or InvalidOperationException or KeyNotFoundException or NotSupportedException)
        {
            // The driver's own message can quote a part of a password that was not in quotes.
            throw new BadInputException($"the database's connection string can't be read: {Expected}");
        }
        if (settings.DataSource.Length == 0 || settings.InitialCatalog.Length == 0)
            throw new BadInputException(
                $"the database's connection string names no {(settings.DataSource.Length == 0 ? "server" : "database")}: {Expected}");

        var credential = TakeCredential(settings, createCredential ?? CreateCredential);
        if (!settings.ShouldSerialize("Connect Timeout"))
            settings.ConnectTimeout = ConnectTimeoutSeconds;
        if (!settings.ShouldSerialize("Application Name"))
            settings.ApplicationName = "HibpIngest";
        settings.PersistSecurityInfo = false;
        settings.MultipleActiveResultSets = false;
        settings.Enlist = false;
        // After a failed login the pool would fail immediately for up to a minute; retry delays are set here instead.
        settings.PoolBlockingPeriod = PoolBlockingPeriod.NeverBlock;
        return new SqlServerConnections(settings, credential);
    }

    public SqlConnection Create() => new(_connectionString) { AccessTokenCallback = _getToken };

    public SqlConnection CreateForRenewal() => new(_renewalConnectionString) { AccessTokenCallback = _getToken };

    /// <summary>Creates the credential that the settings request, and removes the request from them.</summary>
    /// <returns>The credential; null if the driver signs in.</returns>
    private static TokenCredential? TakeCredential(SqlConnectionStringBuilder settings, CredentialFactory createCredential)
    {
        var user = settings.UserID.Length > 0 ? settings.UserID : null;
        switch (settings.Authentication)
        {
            case SqlAuthenticationMethod.NotSpecified or SqlAuthenticationMethod.SqlPassword
                when user is not null && settings.Password.Length > 0:
                return null;
            case SqlAuthenticationMethod.NotSpecified when settings.IntegratedSecurity:
                return null;
            case SqlAuthenticationMethod.NotSpecified when user is null && settings.Password.Length == 0:
                return createCredential(null, false);
            case SqlAuthenticationMethod.NotSpecified or SqlAuthenticationMethod.SqlPassword:
                var has = user is null ? "a Password and no User ID" : "a User ID and no Password";
                throw new BadInputException($"the database's connection string has {has}: {Expected}");
#pragma warning disable CS0618 // An old name of Managed Identity, which connection strings still carry.
            case SqlAuthenticationMethod.ActiveDirectoryDefault
                or SqlAuthenticationMethod.ActiveDirectoryManagedIdentity
                or SqlAuthenticationMethod.ActiveDirectoryMSI:
#pragma warning restore CS0618
                var managed = settings.Authentication != SqlAuthenticationMethod.ActiveDirectoryDefault;
                // Entra sign-in uses our credential: the driver's own needs a package that this program doesn't reference.
                settings.Remove("Authentication");
                settings.Remove("User ID");
                settings.Remove("Password");
                return createCredential(user, managed);
            default:
                throw new BadInputException(
                    $"the database's connection string has Authentication={settings.Authentication}, which is not supported: "
                    + "expected none (User ID and Password, or the identity of the process), Active Directory Default, "
                    + "or Active Directory Managed Identity");
        }
    }

    private static TokenCredential CreateCredential(string? clientId, bool managedIdentityOnly)
    {
        if (managedIdentityOnly)
        {
            return new ManagedIdentityCredential(
                clientId is null ? ManagedIdentityId.SystemAssigned : ManagedIdentityId.FromUserAssignedClientId(clientId));
        }
        var options = new DefaultAzureCredentialOptions();
        if (clientId is not null)
            options.ManagedIdentityClientId = clientId;
        return new DefaultAzureCredential(options);
    }
}

/// <param name="clientId">Client id of a user-assigned identity; null if none is named.</param>
/// <param name="managedIdentityOnly">True: only a managed identity may sign in; false: any identity that the machine has.</param>
internal delegate TokenCredential CredentialFactory(string? clientId, bool managedIdentityOnly);
