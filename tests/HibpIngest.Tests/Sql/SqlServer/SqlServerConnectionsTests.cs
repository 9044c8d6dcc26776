using Azure.Core;
using HibpIngest.Storage.Sql.SqlServer;
using Microsoft.Data.SqlClient;

namespace HibpIngest.Tests.Sql.SqlServer;

public sealed class SqlServerConnectionsTests
{
    private const string Secret = "top;secret=1";
    private const string Azure = "Server=tcp:hibp.database.windows.net,1433;Initial Catalog=hibp";

    [Fact]
    public void User_and_password_are_kept_and_the_connection_is_encrypted()
    {
        var connections = SqlServerConnections.Parse(
            $"Server=db.example,1433;Database=hibp;User ID=app;Password=\"{Secret}\"", NoCredential);
        Assert.Equal("db.example,1433/hibp", connections.DisplayName);
        Assert.False(connections.UsesTokens);
        using var connection = connections.Create();
        Assert.Null(connection.AccessTokenCallback);
        var settings = new SqlConnectionStringBuilder(connection.ConnectionString);
        Assert.Equal(("app", Secret, false), (settings.UserID, settings.Password, settings.TrustServerCertificate));
        Assert.Equal(SqlConnectionEncryptOption.Mandatory, settings.Encrypt);
        Assert.Equal(
            (30, 30, 8000, "HibpIngest"),
            (settings.ConnectTimeout, settings.CommandTimeout, settings.PacketSize, settings.ApplicationName));
        Assert.Equal(
            (false, false, PoolBlockingPeriod.NeverBlock),
            (settings.MultipleActiveResultSets, settings.Enlist, settings.PoolBlockingPeriod));
    }

    [Fact]
    public void Lease_renewals_have_their_own_pool_whatever_the_configured_size()
    {
        var connections = SqlServerConnections.Parse("Server=x;Database=hibp;User ID=a;Password=b;Max Pool Size=1", NoCredential);
        using var connection = connections.Create();
        using var renewal = connections.CreateForRenewal();
        // The driver has a pool for each string.
        Assert.NotEqual(connection.ConnectionString, renewal.ConnectionString);
        var settings = new SqlConnectionStringBuilder(renewal.ConnectionString);
        Assert.Equal((4, "HibpIngest renewals", "b"), (settings.MaxPoolSize, settings.ApplicationName, settings.Password));
        Assert.Equal(1, new SqlConnectionStringBuilder(connection.ConnectionString).MaxPoolSize);
    }

    [Fact]
    public void Settings_of_the_connection_string_override_the_defaults()
    {
        using var connection = SqlServerConnections.Parse(
            "Server=x;Database=hibp;User ID=a;Password=b;Packet Size=16000;Command Timeout=7;Connect Timeout=5;Max Pool "
            + "Size=9;Encrypt=Strict;Application Name=mine", NoCredential).Create();
        var settings = new SqlConnectionStringBuilder(connection.ConnectionString);
        Assert.Equal(
            (16000, 7, 5, 9, "mine"),
            (settings.PacketSize, settings.CommandTimeout, settings.ConnectTimeout, settings.MaxPoolSize, settings.ApplicationName));
        Assert.Equal(SqlConnectionEncryptOption.Strict, settings.Encrypt);
    }

    [Theory]
    [InlineData(Azure, null, false)]
    [InlineData(Azure + ";Authentication=Active Directory Default", null, false)]
    [InlineData(Azure + ";Authentication=Active Directory Default;User ID=11112222", "11112222", false)]
    [InlineData(Azure + ";Authentication=Active Directory Managed Identity", null, true)]
    [InlineData(Azure + ";Authentication=Active Directory MSI;User Id=33334444", "33334444", true)]
    public async Task Connection_without_a_password_signs_in_by_token(string connectionString, string? clientId, bool managed)
    {
        var expiry = new DateTimeOffset(2030, 1, 2, 3, 4, 5, TimeSpan.Zero);
        var requested = new List<(string?, bool)>();
        var scopes = new List<string>();
        // A blocking request for a token would hold a thread of the pool for each connection.
        var credential = DelegatedTokenCredential.Create((_, _) => throw new NotSupportedException(), (request, _) =>
        {
            scopes.AddRange(request.Scopes);
            return ValueTask.FromResult(new AccessToken("a token", expiry));
        });
        var connections = SqlServerConnections.Parse(connectionString, (id, isManaged) =>
        {
            requested.Add((id, isManaged));
            return credential;
        });
        Assert.Equal([(clientId, managed)], requested);
        using var connection = connections.Create();
        Assert.DoesNotContain("Authentication", connection.ConnectionString, StringComparison.OrdinalIgnoreCase);
        using var another = connections.Create();
        // The pool distinguishes connections by the delegate.
        Assert.Same(connection.AccessTokenCallback, another.AccessTokenCallback);
        var token = await connection.AccessTokenCallback!(TokenRequest, CancellationToken.None);
        Assert.Equal(("a token", expiry), (token.AccessToken, token.ExpiresOn));
        Assert.Equal(["https://database.windows.net/.default"], scopes);
    }

    [Fact]
    public void Connection_uses_Azure_Identity_tokens_by_default()
    {
        Assert.True(SqlServerConnections.Parse(Azure).UsesTokens);
        Assert.True(
            SqlServerConnections.Parse($"{Azure};Authentication=Active Directory Managed Identity;User ID={Guid.Empty}").UsesTokens);
    }

    [Theory]
    [InlineData("Server=x;Database=hibp;User ID=u;Password=" + Secret, "can't be read")] // not quoted: a part of it is parsed as a keyword
    [InlineData("Server=x;Database=hibp;User ID=u;Password='" + Secret, "can't be read")]
    [InlineData("Server=x;Database=hibp;Connect Timeout=" + Secret, "can't be read")]
    [InlineData("Server=x;Database=hibp;Packet Size=1;Password=\"" + Secret + "\"", "can't be read")]
    [InlineData("Server=x;User ID=u;Password=\"" + Secret + "\"", "names no database")]
    [InlineData("Database=x;User ID=u;Password=\"" + Secret + "\"", "names no server")]
    [InlineData("Server=x;Database=hibp;User ID=u", "a User ID and no Password")]
    [InlineData("Server=x;Database=hibp;Password=\"" + Secret + "\"", "a Password and no User ID")]
    [InlineData("Server=x;Database=hibp;Authentication=Active Directory Interactive", "which is not supported")]
    [InlineData(
        "Server=x;Database=hibp;Authentication=Active Directory Service Principal;User ID=u;Password=\"" + Secret + "\"",
        "which is not supported")]
    public void Malformed_connection_string_is_one_error_line_without_the_secret(string connectionString, string expected)
    {
        var error = Assert.Throws<BadInputException>(() => SqlServerConnections.Parse(connectionString, NoCredential));
        Assert.Contains(expected, error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("secret", error.ToString().Split("   at ")[0], StringComparison.Ordinal);
        Assert.DoesNotContain('\n', error.Message);
    }

    private static TokenCredential NoCredential(string? clientId, bool managed) =>
        throw new InvalidOperationException("no credential is expected to be asked for");

    /// <summary>The parameters with which the driver requests a token.</summary>
    private static SqlAuthenticationParameters TokenRequest => new(
        SqlAuthenticationMethod.NotSpecified, "hibp.database.windows.net", "hibp", "https://database.windows.net/",
        "https://login.example/tenant", null, null, Guid.NewGuid(), 30);
}
