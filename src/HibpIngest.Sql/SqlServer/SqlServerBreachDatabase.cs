using System.Data;
using HibpIngest.Errors;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Data.SqlClient;
using Microsoft.Extensions.Logging;
using Polly;
using Polly.Retry;
using static HibpIngest.Sql.SqlServer.Parameter;

namespace HibpIngest.Sql.SqlServer;

/// <summary>
/// The SQL side on SQL Server or Azure SQL. Works at READ COMMITTED, with row versions (which is how Azure SQL
/// has it, and <see cref="UpgradeAsync"/> sets it) or without, and asks nothing of lock hints: what must be
/// exclusive is decided by a conditional UPDATE, by a unique key, or under a row or an application lock that
/// the transaction holds. A statement reads what was committed when it began, so what is read after a lock was
/// had is read by a statement of its own.
/// </summary>
public sealed partial class SqlServerBreachDatabase : IBreachDatabase
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
            ShouldHandle = again => ValueTask.FromResult(again.Outcome.Exception is SqlServerFailure failure && IsTriedAgain(failure, again.AttemptNumber, again.Context)),
            // Whoever was first is done by now, or holds the lock that the next try waits for.
            DelayGenerator = again => ValueTask.FromResult<TimeSpan?>(
                again.Outcome.Exception is SqlServerFailure { Kind: FailureKind.Conflict } ? TimeSpan.FromMilliseconds(Random.Shared.Next(50)) : null),
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

    /// <inheritdoc/>
    public string DisplayName => _connections.DisplayName;

    /// <summary>Names the database; nothing is called. The schema is not touched: see <see cref="UpgradeAsync"/>.</summary>
    /// <param name="connectionString">In the words of Microsoft.Data.SqlClient: see docs/deploying.md.</param>
    /// <param name="time">The clock: the server's own, if it is <see cref="TimeProvider.System"/>.</param>
    /// <param name="logs">Gets what was tried again, and copies that ran out of time.</param>
    /// <param name="options">How it works with the server; null: the defaults.</param>
    /// <exception cref="BadInputException">The connection string can't be read, or asks for what is not done here.</exception>
    public static SqlServerBreachDatabase Open(string connectionString, TimeProvider time, ILoggerFactory logs, SqlServerOptions? options = null) =>
        new(SqlServerConnections.Parse(connectionString), time, logs.CreateLogger<SqlServerBreachDatabase>(), options ?? new SqlServerOptions());

    /// <inheritdoc/>
    public Task<(int Found, int Expected)> GetSchemaVersionAsync(CancellationToken cancellationToken) =>
        ReadAsync(async session => (await SqlServerSchema.FindAsync(session), SqlServerSchema.Expected), cancellationToken);

    /// <inheritdoc/>
    public Task UpgradeAsync(CancellationToken cancellationToken) =>
        ReadAsync(
            async session =>
            {
                await SqlServerSchema.UpgradeAsync(session, DisplayName, cancellationToken);
                return true;
            },
            cancellationToken,
            _options.LongTimeout);

    /// <inheritdoc/>
    public Task<(string Found, string Advice)?> CheckSetUpAsync(CancellationToken cancellationToken) =>
        ReadAsync<(string, string)?>(
            async session => await SqlServerSchema.HasRowVersionsAsync(session)
                ? null
                : ("READ_COMMITTED_SNAPSHOT is off: readers and the copy wait for each other", "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON, with nobody else connected"),
            cancellationToken);

    /// <inheritdoc/>
    public Task<StoreIdentity?> GetIdentityAsync(CancellationToken cancellationToken) => ReadAsync(ReadIdentityAsync, cancellationToken);

    /// <inheritdoc/>
    public Task<StoreIdentity> AddIdentityAsync(StoreIdentity identity, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                await session.ExecuteAsync(
                    """
                    INSERT INTO dbo.store_identity (only_row, id, partition_spread, storage_accounts)
                    SELECT 1, @id, @spread, @accounts WHERE NOT EXISTS (SELECT 1 FROM dbo.store_identity)
                    """,
                    Parameter.Guid("@id", identity.Id), Int("@spread", identity.PartitionSpread), Int("@accounts", identity.StorageAccounts));
                return (await ReadIdentityAsync(session))!;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> HasLoadsAsync(CancellationToken cancellationToken) =>
        ReadAsync(
            async session => await session.NumberAsync("SELECT highest_load FROM dbo.store_counters") > 0,
            cancellationToken);

    /// <inheritdoc/>
    public Task<StoreIds> GetHighestIdsAsync(CancellationToken cancellationToken) =>
        ReadAsync(
            async session => (await session.FirstAsync("SELECT highest_load, highest_mark FROM dbo.store_counters", row => new StoreIds(row.Int64(0), row.Int32(1))))!,
            cancellationToken);

    /// <inheritdoc/>
    public Task MoveOnAsync(StoreIds ids, string heldBecause, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                await session.ExecuteAsync(
                    """
                    UPDATE dbo.loads SET held_because = COALESCE(held_because, @because), state = CASE state WHEN 'notifying' THEN 'held' ELSE state END,
                        failed_in = CASE failed_in WHEN 'notifying' THEN 'held' ELSE failed_in END
                    WHERE state <> 'done'
                    """,
                    LongText("@because", StoredText.OneLine(heldBecause)));
                await RaiseHighestAsync(session, ids);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> TryLockAsync(string name, string owner, TimeSpan lease, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                var taken = await session.ExecuteAsync(
                    """
                    UPDATE dbo.locks SET owner = @owner, expires_at = DATEADD(millisecond, @lease, @now) WHERE name = @name AND (owner = @owner OR expires_at <= @now)
                    """,
                    VarChar("@name", name, 100), Owner(owner), Milliseconds("@lease", lease)) == 1;
                // Of two that insert the second meets the key, and then finds the first's.
                return taken || await session.ExecuteAsync(
                    """
                    INSERT INTO dbo.locks (name, owner, expires_at)
                    SELECT @name, @owner, DATEADD(millisecond, @lease, @now) WHERE NOT EXISTS (SELECT 1 FROM dbo.locks WHERE name = @name)
                    """,
                    VarChar("@name", name, 100), Owner(owner), Milliseconds("@lease", lease)) == 1;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task UnlockAsync(string name, string owner, CancellationToken cancellationToken) =>
        WriteAsync(session => session.ExecuteAsync("DELETE FROM dbo.locks WHERE name = @name AND owner = @owner", VarChar("@name", name, 100), Owner(owner)), cancellationToken);

    /// <summary>The connections belong to the process's pool, which closes them.</summary>
    public ValueTask DisposeAsync() => ValueTask.CompletedTask;

    /// <summary>Behind whatever takes long in its transaction: others that insert an id wait for this row.</summary>
    private static Task<int> RaiseHighestAsync(SqlServerSession session, StoreIds ids) =>
        session.ExecuteAsync(
            """
            UPDATE dbo.store_counters SET highest_load = CASE WHEN highest_load < @highestLoad THEN @highestLoad ELSE highest_load END,
                highest_mark = CASE WHEN highest_mark < @highestMark THEN @highestMark ELSE highest_mark END
            WHERE highest_load < @highestLoad OR highest_mark < @highestMark
            """,
            BigInt("@highestLoad", ids.Load), Int("@highestMark", ids.Mark));

    private static Task<int> RaiseCatalogueVersionAsync(SqlServerSession session) =>
        session.ExecuteAsync("UPDATE dbo.store_counters SET catalogue_version = catalogue_version + 1");

    private static Task<StoreIdentity?> ReadIdentityAsync(SqlServerSession session) => session.FirstAsync(
        "SELECT id, partition_spread, storage_accounts FROM dbo.store_identity",
        row => new StoreIdentity(row.Guid(0), row.Int32(1), row.Int32(2)));

    /// <summary>Runs work that changes nothing, outside of a transaction: each of its statements sees one state.</summary>
    private Task<T> ReadAsync<T>(Func<SqlServerSession, Task<T>> work, CancellationToken cancellationToken, TimeSpan? timeout = null) =>
        RetryAsync(again => AttemptAsync(work, inTransaction: false, copy: null, timeout ?? _connections.CommandTimeout, again), cancellationToken);

    /// <summary>
    /// Runs work in one transaction: all of it is committed, or none. It runs again where it failed before the
    /// commit was sent. Where the answer to the commit was lost <see cref="StoreUnavailableException"/> is
    /// thrown: every stage may be run again.
    /// </summary>
    private Task<T> WriteAsync<T>(Func<SqlServerSession, Task<T>> work, CancellationToken cancellationToken, TimeSpan? timeout = null) =>
        RetryAsync(again => AttemptAsync(work, inTransaction: true, copy: null, timeout ?? _connections.CommandTimeout, again), cancellationToken);

    /// <summary>
    /// The same, but it runs again even where the answer to the commit was lost: the work is told that the try
    /// before is in doubt, and finds out.
    /// </summary>
    /// <param name="work">What is done in the transaction; its second argument is the doubt.</param>
    /// <param name="cancellationToken">Rolls back.</param>
    /// <param name="timeout">Of each statement.</param>
    /// <param name="copy">Whose connection it is done on, and left on: one taken from the pool anew has the
    /// server forget what it knows of the tables. Null: any.</param>
    private Task<T> WriteWithCommitCheckAsync<T>(Func<SqlServerSession, bool, Task<T>> work, CancellationToken cancellationToken, TimeSpan? timeout = null, BatchCopy? copy = null)
    {
        var inDoubt = false;
        return RetryAsync(
            async again =>
            {
                try
                {
                    return await AttemptAsync(session => work(session, inDoubt), inTransaction: true, copy, timeout ?? _connections.CommandTimeout, again);
                }
                catch (SqlServerFailure e) when (e.Kind == FailureKind.InDoubt)
                {
                    inDoubt = true;
                    throw new SqlServerFailure(FailureKind.Transient, e.Number, e.Reported);
                }
            },
            cancellationToken);
    }

    private Task WriteAsync(Func<SqlServerSession, Task> work, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                await work(session);
                return true;
            },
            cancellationToken);

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

    /// <summary>An error that nothing explains, on a database whose schema isn't this program's, is explained by that.</summary>
    private async Task RefuseOtherSchemaAsync(int number, CancellationToken cancellationToken)
    {
        int found;
        try
        {
            found = await AttemptAsync(SqlServerSchema.FindAsync, inTransaction: false, copy: null, _connections.CommandTimeout, cancellationToken);
        }
        catch (SqlServerFailure)
        {
            return;
        }
        if (found != SqlServerSchema.Expected)
        {
            throw new StoreRefusedException(
                $"database {DisplayName} has schema version {found}, and this program is made for {SqlServerSchema.Expected} (SQL Server error {number}): run 'hibp database upgrade'");
        }
    }

    private bool IsTriedAgain(SqlServerFailure failure, int attempt, ResilienceContext context) => failure.Kind switch
    {
        FailureKind.Conflict => attempt < MaxConflicts,
        FailureKind.Transient => TimeProvider.System.GetElapsedTime(context.Properties.GetValue(CallKey, null!).Began) < _options.RetryFor,
        _ => false,
    };

    private async Task<T> AttemptAsync<T>(Func<SqlServerSession, Task<T>> work, bool inTransaction, BatchCopy? copy, TimeSpan timeout, CancellationToken cancellationToken)
    {
        var stage = Stage.Opening;
        var server = copy?.Take() ?? new ServerConnection(_connections.Create());
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
