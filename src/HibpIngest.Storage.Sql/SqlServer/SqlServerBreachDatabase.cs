using System.Data;
using Microsoft.Data.SqlClient;
using Microsoft.Extensions.Logging;
using Polly;
using Polly.Retry;

namespace HibpIngest.Storage.Sql.SqlServer;

/// <summary>
/// The database on SQL Server or Azure SQL. Works at READ COMMITTED, with row versioning (the default of Azure SQL, which
/// <see cref="UpgradeAsync"/> sets elsewhere) or without.
/// </summary>
public sealed partial class SqlServerBreachDatabase : SqlBreachDatabase
{
    // How often work is repeated after a conflict; each attempt sees the changes of the other transaction.
    private const int MaxConflicts = 5;

    // The maximum number of attempts; usually SqlServerOptions.RetryFor ends them earlier.
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
            ShouldHandle = retry => ValueTask.FromResult(
                retry.Outcome.Exception is SqlServerFailure failure && IsRetried(failure, retry.AttemptNumber, retry.Context)),
            // The other transaction has ended by now, or holds the lock that the next attempt waits for.
            DelayGenerator = retry => ValueTask.FromResult<TimeSpan?>(
                retry.Outcome.Exception is SqlServerFailure { Kind: FailureKind.Conflict }
                    ? TimeSpan.FromMilliseconds(Random.Shared.Next(50))
                    : null),
            OnRetry = retry =>
            {
                var failure = (SqlServerFailure)retry.Outcome.Exception!;
                retry.Context.Properties.GetValue(CallKey, null!).Retries++;
                if (failure.Kind != FailureKind.Conflict)
                    LogTriedAgain(failure.Reported.Message, retry.RetryDelay);
                return ValueTask.CompletedTask;
            },
        }).Build();
    }

    public override string DisplayName => _connections.DisplayName;

    /// <summary>Makes no call, and does not touch the schema: see <see cref="UpgradeAsync"/>.</summary>
    /// <param name="connectionString">In the syntax of Microsoft.Data.SqlClient: see docs/deploying.md.</param>
    /// <param name="time">The server's clock is used if it is <see cref="TimeProvider.System"/>.</param>
    /// <exception cref="BadInputException">The connection string is malformed, or requests something unsupported.</exception>
    public static SqlServerBreachDatabase Open(
        string connectionString, TimeProvider time, ILoggerFactory logs, SqlServerOptions? options = null) =>
        new(SqlServerConnections.Parse(connectionString), time, logs.CreateLogger<SqlServerBreachDatabase>(), options ?? new());

    public override Task<(int Found, int Expected)> GetSchemaVersionAsync(CancellationToken cancellationToken) =>
        ReadAsync(async session => (await SqlServerSchema.FindAsync(session), SqlServerSchema.Expected), cancellationToken);

    public override Task UpgradeAsync(CancellationToken cancellationToken) =>
        RetryAsync(
            token => AttemptAsync(
                async session =>
                {
                    await SqlServerSchema.UpgradeAsync(session, DisplayName, cancellationToken);
                    return true;
                },
                inTransaction: false, copy: null, _options.LongTimeout, token),
            cancellationToken);

    public override Task<(string Found, string Advice)?> CheckSetUpAsync(CancellationToken cancellationToken) =>
        ReadAsync<(string, string)?>(
            async session => await SqlServerSchema.HasRowVersionsAsync(session)
                ? null
                : ("READ_COMMITTED_SNAPSHOT is off: readers and the copy wait for each other",
                    "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON, without other connections"),
            cancellationToken);

    /// <summary>Does nothing: the connections belong to the process's pool.</summary>
    public override ValueTask DisposeAsync() => ValueTask.CompletedTask;

    private protected override Task<T> ReadAsync<T>(Func<ISqlSession, Task<T>> work, CancellationToken cancellationToken) =>
        RetryAsync(token => AttemptAsync(work, inTransaction: false, copy: null, _connections.CommandTimeout, token), cancellationToken);

    /// <summary>
    /// Retries work that failed before the commit was sent. If the response to the commit was lost, <see cref="UnavailableException"/>
    /// is thrown: every stage may be run again.
    /// </summary>
    private protected override Task<T> WriteAsync<T>(
        Func<ISqlSession, Task<T>> work, CancellationToken cancellationToken, bool isLong = false) =>
        RetryAsync(
            token => AttemptAsync(
                work, inTransaction: true, copy: null, isLong ? _options.LongTimeout : _connections.CommandTimeout, token),
            cancellationToken);

    private protected override Task<T> RenewAsync<T>(Func<ISqlSession, Task<T>> work, CancellationToken cancellationToken) =>
        RetryAsync(
            token => AttemptAsync(work, inTransaction: true, copy: null, _connections.CommandTimeout, token, isRenewal: true),
            cancellationToken);

    private protected override Task<T> WriteWithCommitCheckAsync<T>(
        Func<ISqlSession, bool, Task<T>> work, CancellationToken cancellationToken) =>
        WriteWithCommitCheckAsync(work, copy: null, _options.LongTimeout, cancellationToken);

    private protected override string Limit(string query, string limit = "@limit") => $"SELECT TOP ({limit}) {query}";

    /// <param name="copy">Keeps its connection between batches, because taking one from the pool resets what the server has cached of the
    /// tables. If null, any connection.</param>
    private Task<T> WriteWithCommitCheckAsync<T>(
        Func<SqlServerSession, bool, Task<T>> work, BatchCopy? copy, TimeSpan timeout, CancellationToken cancellationToken)
    {
        var inDoubt = false;
        return RetryAsync(
            async token =>
            {
                try
                {
                    return await AttemptAsync(session => work(session, inDoubt), inTransaction: true, copy, timeout, token);
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

    // Replaces an unexplained error by a schema mismatch, if the database has another schema version than this program.
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

    private bool IsRetried(SqlServerFailure failure, int attempt, ResilienceContext context) => failure.Kind switch
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
        var isReusable = false;
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
            isReusable = copy is not null;
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
            if (isReusable)
                copy!.Keep(server);
            else
                server.Dispose();
        }
    }

    private static void End(SqlTransaction? transaction)
    {
        try
        {
            transaction?.Dispose();
        }
        catch (Exception e) when (e is SqlException or InvalidOperationException or IOException)
        {
            // The error that failed the work is the one to report. After some errors the server has already rolled back; a connection that
            // is returned or lost is rolled back too.
        }
    }

    [LoggerMessage(
        EventIds.SqlServerBreachDatabaseCopiedInPieces, LogLevel.Warning,
        "load {Load}: copy of {Rows} rows timed out; copying this batch and later ones in pieces of {Smaller} rows")]
    private partial void LogCopiedInPieces(long load, int rows, int smaller);

    [LoggerMessage(
        EventIds.SqlServerBreachDatabaseWasCommitted, LogLevel.Information,
        "load {Load}: batch up to position {Position} was committed although the response was lost")]
    private partial void LogWasCommitted(long load, long position);

    [LoggerMessage(EventIds.SqlServerBreachDatabaseTriedAgain, LogLevel.Warning, "database: retrying in {Delay}: {Reason}")]
    private partial void LogTriedAgain(string reason, TimeSpan delay);

    /// <summary>One call of the port, over all its attempts.</summary>
    private sealed class Call
    {
        public long Began { get; } = TimeProvider.System.GetTimestamp();

        public int Retries { get; set; }

        public int Throttled { get; set; }
    }
}
