using System.Net.Sockets;
using System.Security.Authentication;
using Azure.Identity;
using HibpIngest.Storage.Sql.SqlServer;

namespace HibpIngest.Tests.Sql.SqlServer;

public sealed class SqlServerErrorsTests
{
    // SQL Server's text for a duplicate key, which quotes the key.
    private const string Quoting = "Violation of UNIQUE KEY constraint 'subscribers_by_name'. The duplicate key value is "
        + "(somebody@example.com).";

    public static TheoryData<int> Transient =>
    [
        // learn.microsoft.com/azure/azure-sql/database/troubleshoot-common-errors-issues: the transient fault error codes
        926, 4221, 615, 40197, 40501, 40613, 49918, 49919, 49920,
        // And its resource governance errors.
        10928, 10929, 40552,
        // SqlClient's own list of retriable errors.
        1204, 1222, 40143, 40540, 42108, 42109, 10060, 997, 233,
        // A lost prepared statement: learn.microsoft.com/sql/relational-databases/errors-events/database-engine-events-and-errors
        586, 8179,
        64, 20, 10053, 10054,
    ];

    [Theory]
    [MemberData(nameof(Transient))]
    public void Transient_errors_are_retried(int number) =>
        Classified<UnavailableException>(FailureKind.Transient, DriverErrors.Sql(Quoting, number));

    [Theory]
    [InlineData(1205, typeof(UnavailableException))]
    [InlineData(2627, typeof(InvalidOperationException))]
    [InlineData(2601, typeof(InvalidOperationException))]
    [InlineData(547, typeof(InvalidOperationException))]
    public void Conflicts_are_retried_from_the_start(int number, Type expected) =>
        Assert.Equal(expected, Classified<Exception>(FailureKind.Conflict, DriverErrors.Sql(Quoting, number)).GetType());

    [Theory]
    [InlineData(229, "hibp_app")]
    [InlineData(262, "hibp database upgrade")]
    [InlineData(916, "no user of the database")]
    [InlineData(40615, "firewall")]
    [InlineData(18456, "login was refused")]
    [InlineData(4060, "the database doesn't exist")]
    [InlineData(911, "the database doesn't exist")]
    [InlineData(208, "hibp database upgrade")]
    public void Wrong_setup_is_refused_with_advice(int number, string advice) =>
        Classified<StoreRefusedException>(FailureKind.Final, DriverErrors.Sql(Quoting, number), Stage.Opening, says: advice);

    [Theory]
    [InlineData(18456)]
    [InlineData(4060)]
    [InlineData(3906)]
    public void Refusal_after_a_successful_open_is_transient(int number) =>
        Classified<UnavailableException>(FailureKind.Transient, DriverErrors.Sql(Quoting, number), Stage.Opening, opened: true);

    [Theory]
    [InlineData(1105)]
    [InlineData(1101)]
    [InlineData(9002)]
    [InlineData(40544)]
    public void Full_store_is_reported(int number) => Classified<StoreFullException>(FailureKind.Final, DriverErrors.Sql(Quoting, number));

    [Fact]
    public void Lost_connection_is_transient_unless_the_commit_was_sent()
    {
        var lost = DriverErrors.Sql(
            "A transport-level error", new IOException("broken", new SocketException((int)SocketError.ConnectionReset)), 0);
        Classified<UnavailableException>(FailureKind.Transient, lost, broken: true, says: "ConnectionReset");
        Classified<UnavailableException>(FailureKind.InDoubt, lost, Stage.Committing, broken: true);
        Classified<UnavailableException>(
            FailureKind.Transient, DriverErrors.Invalid("BeginExecuteReader requires an open and available Connection"), broken: true);
        Classified<UnavailableException>(
            FailureKind.Transient, DriverErrors.Invalid("Timeout expired. All pooled connections were in use"), Stage.Opening);
        Classified<UnavailableException>(FailureKind.InDoubt, DriverErrors.Sql("Execution Timeout Expired", -2), Stage.Committing);
    }

    [Fact]
    public void Timeout_is_transient_only_while_opening()
    {
        Classified<UnavailableException>(FailureKind.TimedOut, DriverErrors.Sql("Execution Timeout Expired", -2));
        Classified<UnavailableException>(
            FailureKind.TimedOut, DriverErrors.Invalid(
                "Cannot access destination table 'dbo.rows'", DriverErrors.Sql("Execution Timeout Expired", -2)));
        Classified<UnavailableException>(FailureKind.Transient, DriverErrors.Sql("Connection Timeout Expired", -2), Stage.Opening);
    }

    [Fact]
    public void Rejected_certificate_and_missing_token_are_refused()
    {
        var certificate = DriverErrors.Sql("pre-login handshake", new AuthenticationException("The remote certificate was rejected"), 35);
        Classified<StoreRefusedException>(FailureKind.Final, certificate, Stage.Opening, says: "TrustServerCertificate");
        Classified<StoreRefusedException>(FailureKind.Final, new CredentialUnavailableException("none"), Stage.Opening, says: "az login");
        Classified<UnavailableException>(FailureKind.Transient, new AuthenticationFailedException("network"), Stage.Opening, opened: true);
        // The driver wraps an exception of its token callback in an error of the class that ends a connection; its
        // own timeout cancels the callback.
        var wrapped = DriverErrors.Sql("no credential", new CredentialUnavailableException("none"), 0);
        Classified<StoreRefusedException>(FailureKind.Final, wrapped, Stage.Opening, broken: true);
        Classified<UnavailableException>(FailureKind.Transient, wrapped, Stage.Opening, broken: true, opened: true);
        Classified<UnavailableException>(
            FailureKind.Transient, DriverErrors.Sql("canceled", new TaskCanceledException(), 0), Stage.Opening, broken: true);
        var invariant = new NotSupportedException("Globalization Invariant Mode is not supported.");
        Classified<StoreRefusedException>(FailureKind.Final, invariant, Stage.Opening, says: "ICU");
    }

    [Fact]
    public void Unknown_driver_error_is_a_defect_and_quotes_no_data()
    {
        Classified<InvalidOperationException>(FailureKind.Final, DriverErrors.Sql(Quoting, 8152));
        Classified<InvalidOperationException>(FailureKind.Final, DriverErrors.Invalid("There is already an open DataReader"));
    }

    [Fact]
    public void Exceptions_not_from_the_driver_are_not_classified()
    {
        foreach (var e in new Exception[] { new LoadLostException(new(1)), new InvalidOperationException("ours"),
                new ArgumentException("ours"), new OperationCanceledException() })
            Assert.Null(SqlServerErrors.Classify(e, Stage.Working, broken: false, opened: true, "db/hibp"));
    }

    private static T Classified<T>(
        FailureKind kind, Exception e, Stage stage = Stage.Working, bool broken = false, bool opened = false, string says = "")
        where T : Exception
    {
        var failure = SqlServerErrors.Classify(e, stage, broken, opened, "db/hibp");
        Assert.NotNull(failure);
        Assert.Equal(kind, failure.Kind);
        var reported = Assert.IsAssignableFrom<T>(failure.Reported);
        Assert.DoesNotContain("@", reported.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain('\n', reported.Message);
        Assert.Contains(says, reported.Message, StringComparison.Ordinal);
        return reported;
    }
}
