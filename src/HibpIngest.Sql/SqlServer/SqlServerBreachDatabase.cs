using System.Data;
using HibpIngest.Errors;
using HibpIngest.Telemetry;
using Microsoft.Data.SqlClient;
using Microsoft.Extensions.Logging;
using Polly;
using Polly.Retry;

namespace HibpIngest.Sql.SqlServer;

/// <summary>
/// The SQL side on SQL Server or Azure SQL. Works at READ COMMITTED, with row versions (which is how Azure SQL
/// has it, and <see cref="UpgradeAsync"/> sets it) or without.
/// </summary>
public sealed partial class SqlServerBreachDatabase : SqlBreachDatabase
{
    /// <summary>How often work is done again because somebody else was first; each time it sees what they did.</summary>
    private const int MaxConflicts = 5;

    /// <summary>Most tries; the time they may take (<see cref="SqlServerOptions.RetryFor"/>) ends them earlier.</summary>
    private const int MaxTries = 20;

    private static readonly ResiliencePropertyKey<Call> CallKey = new("call");

    private readonly SqlServerConnections _connections;
    private readonly SqlServerOptions _options;
    private readonly TimeProvider _time;
    private readonly ILogger _log;
    private readonly ResiliencePipeline _retries;
    private volatile bool _opened;

    private SqlServerBreachDatabase(SqlServerConnections connections, TimeProvider time, ILogger log, SqlServerOptions options)
        : base(["blob_version"], " COLLATE Latin1_General_100_BIN2")
    {
        _connections = connections;
        _time = time;
        _log = log;
        _options = options;
        _retries = new ResiliencePipelineBuilder().AddRetry(new RetryStrategyOptions
        {
            MaxRetryAttempts = MaxTries - 1,
            BackoffType = DelayBackoffType.Exponential,
            UseJitter = true,
            Delay = options.RetryDelay,
            MaxDelay = options.LongestRetryDelay,
            ShouldHandle = again => ValueTask.FromResult(
                again.Outcome.Exception is SqlServerFailure failure && IsTriedAgain(failure, again.AttemptNumber, again.Context)),
            // Whoever was first is done by now, or holds the lock that the next try waits for.
            DelayGenerator = again => ValueTask.FromResult<TimeSpan?>(
                again.Outcome.Exception is SqlServerFailure { Kind: FailureKind.Conflict }
                    ? TimeSpan.FromMilliseconds(Random.Shared.Next(50))
                    : null),
            OnRetry = again =>
            {
                var failure = (SqlServerFailure)again.Outcome.Exception!;
                again.Context.Properties.GetValue(CallKey, null!).Retries++;
                if (failure.Kind != FailureKind.Conflict)
                    LogTriedAgain(failure.Reported.Message, again.RetryDelay);
                return ValueTask.CompletedTask;
            },
        }).Build();
    }

    public override string DisplayName => _connections.DisplayName;

    /// <summary>Names the database; nothing is called. The schema is not touched: see <see cref="UpgradeAsync"/>.</summary>
    /// <param name="connectionString">In the words of Microsoft.Data.SqlClient: see docs/deploying.md.</param>
    /// <param name="time">The clock: the server's own, if it is <see cref="TimeProvider.System"/>.</param>
    /// <param name="logs">Gets what was tried again, and copies that ran out of time.</param>
    /// <param name="options">How it works with the server; null: the defaults.</param>
    /// <exception cref="BadInputException">The connection string can't be read, or asks for what is not done here.</exception>
    public static SqlServerBreachDatabase Open(
        string connectionString, TimeProvider time, ILoggerFactory logs, SqlServerOptions? options = null) =>
        new(SqlServerConnections.Parse(connectionString), time, logs.CreateLogger<SqlServerBreachDatabase>(), options ?? new());

    public override Task<(int Found, int Expected)> GetSchemaVersionAsync(CancellationToken cancellationToken) =>
        ReadAsync(async session => (await SqlServerSchema.FindAsync(session), SqlServerSchema.Expected), cancellationToken);

    public override Task UpgradeAsync(CancellationToken cancellationToken) =>
        RetryAsync(
            again => AttemptAsync(
                async session =>
                {
                    await SqlServerSchema.UpgradeAsync(session, DisplayName, cancellationToken);
                    return true;
                },
                inTransaction: false, copy: null, _options.LongTimeout, again),
            cancellationToken);

    public override Task<(string Found, string Advice)?> CheckSetUpAsync(CancellationToken cancellationToken) =>
        ReadAsync<(string, string)?>(
            async session => await SqlServerSchema.HasRowVersionsAsync(session)
                ? null
                : ("READ_COMMITTED_SNAPSHOT is off: readers and the copy wait for each other",
                    "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON, with nobody else connected"),
            cancellationToken);

    /// <summary>The connections belong to the process's pool, which closes them.</summary>
    public override ValueTask DisposeAsync() => ValueTask.CompletedTask;

    /// <summary>As the base says, outside of a transaction.</summary>
    private protected override Task<T> ReadAsync<T>(Func<ISqlSession, Task<T>> work, CancellationToken cancellationToken) =>
        RetryAsync(again => AttemptAsync(work, inTransaction: false, copy: null, _connections.CommandTimeout, again), cancellationToken);

    /// <summary>
    /// As the base says. The work runs again where it failed before the commit was sent. Where the answer to the
    /// commit was lost <see cref="StoreUnavailableException"/> is thrown: every stage may be run again.
    /// </summary>
    private protected override Task<T> WriteAsync<T>(
        Func<ISqlSession, Task<T>> work, CancellationToken cancellationToken, bool isLong = false) =>
        RetryAsync(
            again => AttemptAsync(
                work, inTransaction: true, copy: null, isLong ? _options.LongTimeout : _connections.CommandTimeout, again),
            cancellationToken);

    private protected override Task<T> RenewAsync<T>(Func<ISqlSession, Task<T>> work, CancellationToken cancellationToken) =>
        RetryAsync(
            again => AttemptAsync(
                work, inTransaction: true, copy: null, _connections.CommandTimeout, again, isRenewal: true),
            cancellationToken);

    private protected override Task<T> WriteWithCommitCheckAsync<T>(
        Func<ISqlSession, bool, Task<T>> work, CancellationToken cancellationToken) =>
        WriteWithCommitCheckAsync(work, copy: null, _options.LongTimeout, cancellationToken);

    private protected override string Most(string query, string most = "@most") => $"SELECT TOP ({most}) {query}";

    /// <summary>
    /// The same, but it runs again even where the answer to the commit was lost: the work is told that the try
    /// before is in doubt, and finds out.
    /// </summary>
    /// <param name="work">What is done in the transaction; its second argument is the doubt.</param>
    /// <param name="copy">Whose connection it is done on, and left on: one taken from the pool anew has the
    /// server forget what it knows of the tables. Null: any.</param>
    private Task<T> WriteWithCommitCheckAsync<T>(
        Func<SqlServerSession, bool, Task<T>> work, BatchCopy? copy, TimeSpan timeout, CancellationToken cancellationToken)
    {
        var inDoubt = false;
        return RetryAsync(
            async again =>
            {
                try
                {
                    return await AttemptAsync(session => work(session, inDoubt), inTransaction: true, copy, timeout, again);
                }
                catch (SqlServerFailure e) when (e.Kind == FailureKind.InDoubt)
                {
                    inDoubt = true;
                    throw new SqlServerFailure(FailureKind.Transient, e.Number, e.Reported);
                }
            },
            cancellationToken);
    }

    private async Task<T> RetryAsync<T>(Func<CancellationToken, Task<T>> attempt, CancellationToken cancellationToken)
    {
        var context = ResilienceContextPool.Shared.Get(cancellationToken);
        var call = new Call();
        context.Properties.Set(CallKey, call);
        try
        {
            return await _retries.ExecuteAsync(
                static async (context, state) =>
                {
                    try
                    {
                        return await state.attempt(context.CancellationToken);
                    }
                    catch (SqlServerFailure e) when (SqlServerErrors.IsThrottling(e.Number))
                    {
                        state.call.Throttled++;
                        throw;
                    }
                },
                context,
                (attempt, call));
        }
        catch (SqlServerFailure e)
        {
            if (e is { Kind: FailureKind.Final, Reported: InvalidOperationException })
                await RefuseOtherSchemaAsync(e.Number, cancellationToken);
            throw e.Reported;
        }
        finally
        {
            HibpTelemetry.SqlCalled(call.Retries, call.Throttled);
            ResilienceContextPool.Shared.Return(context);
        }
    }

    /// <summary>
    /// An error that nothing explains, on a database whose schema isn't this program's, is explained by that.
    /// </summary>
    private async Task RefuseOtherSchemaAsync(int number, CancellationToken cancellationToken)
    {
        int found;
        try
        {
            found = await AttemptAsync(
                SqlServerSchema.FindAsync, inTransaction: false, copy: null, _connections.CommandTimeout, cancellationToken);
        }
        catch (SqlServerFailure)
        {
            return;
        }
        if (found != SqlServerSchema.Expected)
        {
            throw new StoreRefusedException(
                $"database {DisplayName} has schema version {found}, and this program is made for {SqlServerSchema.Expected} "
                + $"(SQL Server error {number}): run 'hibp database upgrade'");
        }
    }

    private bool IsTriedAgain(SqlServerFailure failure, int attempt, ResilienceContext context) => failure.Kind switch
    {
        FailureKind.Conflict => attempt < MaxConflicts,
        FailureKind.Transient => TimeProvider.System.GetElapsedTime(context.Properties.GetValue(CallKey, null!).Began) < _options.RetryFor,
        _ => false,
    };

    private async Task<T> AttemptAsync<T>(
        Func<SqlServerSession, Task<T>> work, bool inTransaction, BatchCopy? copy, TimeSpan timeout, CancellationToken cancellationToken,
        bool isRenewal = false)
    {
        var stage = Stage.Opening;
        var server = copy?.Take() ?? new ServerConnection(isRenewal ? _connections.CreateForRenewal() : _connections.Create());
        var connection = server.Connection;
        SqlTransaction? transaction = null;
        var kept = false;
        try
        {
            if (connection.State != ConnectionState.Open)
                await connection.OpenAsync(cancellationToken);
            _opened = true;
            stage = Stage.Working;
            transaction = inTransaction ? connection.BeginTransaction(IsolationLevel.ReadCommitted) : null;
            var result = await work(new SqlServerSession(server, transaction, _time, timeout, cancellationToken));
            cancellationToken.ThrowIfCancellationRequested();
            stage = Stage.Committing;
            transaction?.Commit();
            kept = copy is not null;
            return result;
        }
        catch (Exception e)
        {
            var broken = connection.State != ConnectionState.Open;
            if (stage != Stage.Committing)
                cancellationToken.ThrowIfCancellationRequested();
            if (SqlServerErrors.Classify(e, stage, broken, _opened, DisplayName) is { } failure)
                throw failure;
            throw;
        }
        finally
        {
            End(transaction);
            if (kept)
                copy!.Keep(server);
            else
                server.Dispose();
        }
    }

    /// <summary>Rolls back what was not committed.</summary>
    private static void End(SqlTransaction? transaction)
    {
        try
        {
            transaction?.Dispose();
        }
        catch (Exception e) when (e is SqlException or InvalidOperationException or IOException)
        {
            // What made the work fail is the error to show. After some errors the server has rolled back by
            // itself; a connection that is given back or lost is rolled back too.
        }
    }

    /// <summary>One call of the port, over its tries.</summary>
    private sealed class Call
    {
        public long Began { get; } = TimeProvider.System.GetTimestamp();

        public int Retries { get; set; }

        public int Throttled { get; set; }
    }
}
