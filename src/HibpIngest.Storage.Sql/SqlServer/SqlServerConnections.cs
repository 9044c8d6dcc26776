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

    // A paused serverless database takes up to a minute to resume; the driver's default of 15 seconds would cause three errors.
    private const int ConnectTimeoutSeconds = 30;

    // A renewal is one short statement.
    private const int RenewalPoolSize = 4;

    private readonly string _connectionString;
    private readonly string _renewals;
    private readonly Func<SqlAuthenticationParameters, CancellationToken, Task<SqlAuthenticationToken>>? _getToken;

    private SqlServerConnections(SqlConnectionStringBuilder settings, TokenCredential? credential)
    {
        DisplayName = $"{settings.DataSource}/{settings.InitialCatalog}";
        CommandTimeout = TimeSpan.FromSeconds(settings.CommandTimeout);
        _connectionString = settings.ConnectionString;
        // A different string has a pool of its own: renewals never wait for a connection that a copy or a slice holds.
        _renewals = new SqlConnectionStringBuilder(_connectionString)
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

    /// <summary>The connection string's Command Timeout.</summary>
    public TimeSpan CommandTimeout { get; }

    public bool UsesTokens => _getToken is not null;

    /// <param name="connectionString">In the syntax of Microsoft.Data.SqlClient. Without User ID and Password, or with Authentication
    /// "Active Directory Default" or "Active Directory Managed Identity" (User ID: its client id), an Entra identity signs in.</param>
    /// <param name="credential">Makes the credential for a client id (or null); for tests.</param>
    /// <exception cref="BadInputException">The connection string is malformed, or requests something unsupported.</exception>
    public static SqlServerConnections Parse(string connectionString, Func<string?, bool, TokenCredential>? credential = null)
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

        var signIn = SignIn(settings, credential ?? CreateCredential);
        if (!settings.ShouldSerialize("Connect Timeout"))
            settings.ConnectTimeout = ConnectTimeoutSeconds;
        if (!settings.ShouldSerialize("Application Name"))
            settings.ApplicationName = "HibpIngest";
        settings.PersistSecurityInfo = false;
        settings.MultipleActiveResultSets = false;
        settings.Enlist = false;
        // After a failed login the pool would fail immediately for up to a minute; retry delays are set here instead.
        settings.PoolBlockingPeriod = PoolBlockingPeriod.NeverBlock;
        return new SqlServerConnections(settings, signIn);
    }

    public SqlConnection Create() => new(_connectionString) { AccessTokenCallback = _getToken };

    /// <summary>Makes a connection from the pool reserved for lease renewals.</summary>
    public SqlConnection CreateForRenewal() => new(_renewals) { AccessTokenCallback = _getToken };

    private static TokenCredential? SignIn(SqlConnectionStringBuilder settings, Func<string?, bool, TokenCredential> credential)
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
                return credential(null, false);
            case SqlAuthenticationMethod.NotSpecified or SqlAuthenticationMethod.SqlPassword:
                var has = user is null ? "a Password and no User ID" : "a User ID and no Password";
                throw new BadInputException($"the database's connection string has {has}: {Expected}");
#pragma warning disable CS0618 // An old name of Managed Identity, which connection strings still carry.
            case SqlAuthenticationMethod.ActiveDirectoryDefault
                or SqlAuthenticationMethod.ActiveDirectoryManagedIdentity
                or SqlAuthenticationMethod.ActiveDirectoryMSI:
#pragma warning restore CS0618
                var managed = settings.Authentication != SqlAuthenticationMethod.ActiveDirectoryDefault;
                // The credential signs in from here on: the driver's own way needs packages that are left out.
                settings.Remove("Authentication");
                settings.Remove("User ID");
                settings.Remove("Password");
                return credential(user, managed);
            default:
                throw new BadInputException("the database's connection string asks for a kind of Authentication that is not supported: "
                    + "expected none (User ID and Password, or the identity of the process), Active Directory Default, "
                    + "or Active Directory Managed Identity");
        }
    }

    private static TokenCredential CreateCredential(string? clientId, bool managed)
    {
        if (managed)
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
