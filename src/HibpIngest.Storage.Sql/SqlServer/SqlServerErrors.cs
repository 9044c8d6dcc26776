using System.Collections.Frozen;
using System.Data.Common;
using System.Net.Sockets;
using System.Security.Authentication;
using Azure.Identity;
using Microsoft.Data.SqlClient;

namespace HibpIngest.Storage.Sql.SqlServer;

/// <summary>The stage of a transaction in which an error occurred.</summary>
internal enum Stage
{
    Opening,

    /// <summary>Before the commit was sent: nothing is stored.</summary>
    Working,

    /// <summary>The commit was sent, and no response was received.</summary>
    Committing,
}

/// <summary>
/// Maps errors of the driver and the server to the pipeline's errors, in one place. The server's messages can quote data (a duplicate key,
/// a truncated value), so error numbers are reported instead.
/// </summary>
internal static class SqlServerErrors
{
    private const int Timeout = -2;

    private const int InvalidObjectName = 208;

    // Transient errors: Microsoft's lists for Azure SQL (learn.microsoft.com/azure/azure-sql/database/troubleshoot-common-errors-issues and
    // learn.microsoft.com/sql/connect/ado-net/configurable-retry-logic-sqlclient-introduction), and those of a broken connection, of a
    // server that is starting, and of one short of memory or locks.
    private static readonly FrozenSet<int> TransientNumbers = new[]
    {
        20, 64, 121, 233, 997, 10053, 10054, 10060, 10061, 11001, 17142, 17197, // network, server paused, login timed out
        // A database that is moved, started or altered.
        615, 921, 922, 923, 924, 926, 927, 952, 983, 4221, 5064, 18401, 40143, 40166, 40197, 40540, 40545, 40613, 40642, 42108, 42109,
        669, 701, 1204, 3966, 8628, 8645, 8651, 9515, 17889, // memory, locks, row versions, connections
        10928, 10929, 10930, 10936, 40501, 40549, 40550, 40551, 40552, 40553, 40648, 40671, 45168, 45169, 49918, 49919, 49920, // throttling
        586, 8179, //  a prepared statement that the server no longer has: a gateway gave the connection another session
        1222, 3960, //  a lock timeout, a row that changed under a snapshot
    }.ToFrozenSet();

    private static readonly FrozenSet<int> ThrottlingNumbers = new[]
    {
        10928, 10929, 10930, 10936, 40501, 40551, 40552, 40553, 45168, 45169, 49918, 49919, 49920,
    }.ToFrozenSet();

    // Unique keys (2601, 2627), foreign keys (547), deadlocks (1205).
    private static readonly FrozenSet<int> ConflictNumbers = new[] { 547, 1205, 2601, 2627 }.ToFrozenSet();

    private static readonly FrozenSet<int> FullNumbers = new[] { 1101, 1105, 9002, 40544, 1827, 5149 }.ToFrozenSet();

    // Errors that mean a wrong setup, or a database that is starting or failing over: see Classify.
    private static readonly FrozenDictionary<int, string> SetUpOrComingUp = new Dictionary<int, string>
    {
        [911] = "the database doesn't exist: create it, or fix the connection string",
        [4060] = "the database doesn't exist, or this identity may not use it: create it, or add the identity as a user of it "
            + "(CREATE USER ...; ALTER ROLE hibp_app ADD MEMBER ...)",
        [18456] = "the login was refused: check user and password, or add the identity as a user of the database",
        [3906] = "the database is read-only: name the primary server",
    }.ToFrozenDictionary();

    private static readonly FrozenDictionary<int, string> Refused = new Dictionary<int, string>
    {
        [229] = "permission denied: let the identity join the role hibp_app, or run 'hibp database upgrade' as an administrator",
        [230] = "permission denied: let the identity join the role hibp_app",
        [262] = "permission denied: an administrator runs 'hibp database upgrade', and the app's identity joins the role hibp_app",
        [297] = "permission denied: let the identity join the role hibp_app",
        [300] = "permission denied: let the identity join the role hibp_app",
        [916] = "this identity is no user of the database: CREATE USER ...; ALTER ROLE hibp_app ADD MEMBER ...",
        [1088] = "permission denied: let the identity join the role hibp_app",
        [15247] = "permission denied: an administrator runs 'hibp database upgrade'",
        [15151] = "permission denied: an administrator runs 'hibp database upgrade'",
        [2760] = "permission denied: an administrator runs 'hibp database upgrade'",
        [18452] = "the login was refused: the server does not accept Windows logins from here",
        [18470] = "the login is disabled",
        [18486] = "the login is locked",
        [18487] = "the login's password has expired",
        [18488] = "the login's password must be changed",
        [40532] = "the server does not know this login or its own name: check the connection string",
        [40607] = "the login was refused: check the identity",
        [40615] = "the server's firewall does not let this address in: add a rule for it",
        [40914] = "the server's firewall does not let this network in: add a rule for it",
        [47073] = "the server takes no public connections: use its private endpoint",
    }.ToFrozenDictionary();

    public static bool IsThrottling(int number) => ThrottlingNumbers.Contains(number);

    /// <param name="opened">True if the database has been open in this process. If it was, a refusal means that it is starting or failing
    /// over; otherwise it is set up wrong.</param>
    /// <returns>Null if the error is not the driver's.</returns>
    public static SqlServerFailure? Classify(Exception e, Stage stage, bool broken, bool opened, string database)
    {
        // Missing permissions, a full disk and the like are final at any stage; a broken connection takes precedence over the driver's
        // other errors.
        var chain = Chain(e).ToList();
        var numbers = chain.OfType<SqlException>().SelectMany(one => one.Errors.Cast<SqlError>())
            .Select(error => error.Number).Where(number => number != 0).Distinct().ToList();
        var first = numbers.FirstOrDefault();
        // Errors of class 20 and above end the connection
        // (learn.microsoft.com/sql/relational-databases/errors-events/database-engine-error-severities), whose state may not show it yet.
        broken |= chain.OfType<SqlException>().Any(one => one.Class >= 20);
        if (numbers.Find(FullNumbers.Contains) is > 0 and var full)
        {
            return new(FailureKind.Final, full, new StoreFullException(
                $"database {database} is full (SQL Server error {full}): free some space (a larger tier or file, or 'hibp database "
                + "purge'), and the work resumes where it stopped"));
        }
        if (chain.OfType<AuthenticationException>().Any())
        {
            return new(FailureKind.Final, first, new StoreRefusedException(
                $"database {database}: the server's certificate is not trusted: install its authority's, or, for a server of your own, "
                + "set TrustServerCertificate=true in the connection string"));
        }
        if (chain.OfType<NotSupportedException>().Any() && stage == Stage.Opening)
        {
            return new(FailureKind.Final, first, new StoreRefusedException(
                "Microsoft.Data.SqlClient needs ICU: install the system's ICU library (Debian: libicu72, Alpine: icu-libs icu-data-full), "
                + "and don't set DOTNET_SYSTEM_GLOBALIZATION_INVARIANT"));
        }
        if (stage == Stage.Opening && chain.OfType<AuthenticationFailedException>().Any())
        {
            const string Advice = "there is no Entra token: give the app a managed identity, or sign in with 'az login'";
            return opened ? Unavailable(FailureKind.Transient, Advice) : Refusal(first, Advice);
        }
        if (numbers.Find(SetUpOrComingUp.ContainsKey) is > 0 and var ambiguous)
        {
            return opened ? Unavailable(FailureKind.Transient, $"SQL Server error {ambiguous}")
                : Refusal(ambiguous, $"{SetUpOrComingUp[ambiguous]} (SQL Server error {ambiguous})");
        }
        if (numbers.Find(Refused.ContainsKey) is > 0 and var refused)
            return Refusal(refused, $"{Refused[refused]} (SQL Server error {refused})");
        if (numbers.Contains(InvalidObjectName))
        {
            return new(FailureKind.Final, InvalidObjectName, new StoreRefusedException(
                $"database {database} is missing a part of this program's schema (SQL Server error {InvalidObjectName}): "
                + "run 'hibp database upgrade'"));
        }

        if (!chain.Exists(one => one is DbException || one.Source == typeof(SqlConnection).Assembly.GetName().Name)
            && !(broken && e is IOException or SocketException))
        {
            return null;
        }
        if (stage == Stage.Committing)
            return Unavailable(FailureKind.InDoubt, "a commit got no response");
        if (numbers.Find(ConflictNumbers.Contains) is > 0 and var conflict)
        {
            return new(FailureKind.Conflict, conflict, conflict == 1205
                ? new UnavailableException(
                    $"database {database}: the transaction lost a deadlock (SQL Server error 1205) repeatedly")
                : new InvalidOperationException($"database {database}: a key or constraint was violated (SQL Server error {conflict})"));
        }
        if (numbers.Contains(Timeout) && stage == Stage.Working)
            return Unavailable(FailureKind.TimedOut, "a statement timed out (SQL Server error -2)");
        if (stage == Stage.Opening || broken || numbers.Exists(TransientNumbers.Contains))
            return Unavailable(FailureKind.Transient, Reason(chain, first));
        return new(FailureKind.Final, first, new InvalidOperationException($"database {database}: {Reason(chain, first)}"));

        SqlServerFailure Refusal(int number, string advice) =>
            new(FailureKind.Final, number, new StoreRefusedException($"database {database}: {advice}"));

        SqlServerFailure Unavailable(FailureKind kind, string reason) =>
            new(kind, first, new UnavailableException($"database {database} can't be reached or used just now: {reason}"));
    }

    // Returns numbers and codes only, never the server's text.
    private static string Reason(List<Exception> chain, int number)
    {
        if (chain.OfType<SocketException>().FirstOrDefault(one => one.SocketErrorCode != SocketError.Success) is { } socket)
            return $"{socket.SocketErrorCode}";
        if (number != 0)
            return $"SQL Server error {number}";
        return chain.OfType<SqlException>().FirstOrDefault() is { } sql
            ? $"the connection was lost (class {sql.Class}, state {sql.State})"
            : $"{chain[0].GetType().Name} in the driver";
    }

    private static IEnumerable<Exception> Chain(Exception e)
    {
        for (var one = e; one is not null; one = one.InnerException)
            yield return one;
    }
}

internal enum FailureKind
{
    Final,

    /// <summary>Retried on a new connection after a delay.</summary>
    Transient,

    /// <summary>Another transaction was first (a unique key, a foreign key, a deadlock): retried at once, and sees its changes.</summary>
    Conflict,

    /// <summary>It is unknown whether the transaction was committed.</summary>
    InDoubt,

    TimedOut,
}

/// <summary>A classified error of the driver. It stays within the provider; the caller receives <see cref="Reported"/>.</summary>
internal sealed class SqlServerFailure(FailureKind kind, int number, Exception reported) : Exception(reported.Message)
{
    public FailureKind Kind => kind;

    /// <summary>The server's error number; 0 if none.</summary>
    public int Number => number;

    /// <summary>
    /// One of the port's errors or, for a defect, an <see cref="InvalidOperationException"/>. Contains nothing of the driver's message,
    /// which can quote data.
    /// </summary>
    public Exception Reported => reported;
}
