using HibpIngest.AccessLog;
using HibpIngest.AzureStorage;
using HibpIngest.Errors;
using HibpIngest.Pipeline;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting;

/// <summary>
/// What hosts do for the access log beside the pipeline, and beside the web, which writes it. It needs no database. Safe for use by
/// many at once.
/// </summary>
public sealed partial class AccessWork : IDisposable
{
    private readonly StorageAccount _account;
    private readonly ILogger _log;
    private readonly RollUpAccess _rollUp;
    private readonly SweepAccess _sweep;
    private readonly SemaphoreSlim _one = new(1);
    private volatile bool _ensured;

    private AccessWork(StorageAccount account, PipelineOptions options, TimeProvider time, ILoggerFactory logs)
    {
        (_account, _log) = (account, logs.CreateLogger<AccessWork>());
        _rollUp = new RollUpAccess(account.AccessLog, account.Usage, logs.CreateLogger<RollUpAccess>());
        _sweep = new SweepAccess(
            account.AccessLog, account.Queues.Get(QueueNames.AccessRollUp),
            options.AccessLogDays == 0 ? null : TimeSpan.FromDays(options.AccessLogDays), time, logs.CreateLogger<SweepAccess>());
    }

    /// <summary>Opens what it needs; calls nothing.</summary>
    /// <param name="account">Where everything is; stays the caller's.</param>
    /// <param name="options">Says how long blobs are kept.</param>
    /// <param name="time">The clock.</param>
    /// <param name="logs">Where everything is logged.</param>
    public static AccessWork Open(StorageAccount account, PipelineOptions options, TimeProvider time, ILoggerFactory logs) =>
        new(account, options, time, logs);

    /// <summary>
    /// Returns when the message's work is durably done, or the message sent again because a store is down; then, and only then, it
    /// may be deleted.
    /// </summary>
    /// <exception cref="BadInputException">The body is no message of that queue.</exception>
    /// <exception cref="NotPossibleException">The blob can't be read.</exception>
    public async Task DispatchAsync(string body, CancellationToken cancellationToken)
    {
        try
        {
            await GuardAsync(() => _rollUp.RunAsync(body, cancellationToken), cancellationToken);
        }
        catch (StoreUnavailableException e)
        {
            var delay = StageRunner.Delay(0);
            LogPutOff(QueueNames.AccessRollUp, delay, e.Message);
            // Should the queue be down too, this throws, and the host's own visibility timeout brings the message back.
            await _account.Queues.Get(QueueNames.AccessRollUp).SendAsync(body, delay, CancellationToken.None);
        }
    }

    /// <summary>Ends the blobs of processes that are gone, has ended ones counted, and deletes those that were.</summary>
    /// <param name="cancellationToken">Ends it between two blobs.</param>
    public Task SweepAsync(CancellationToken cancellationToken) => GuardAsync(() => _sweep.RunAsync(cancellationToken), cancellationToken);

    /// <inheritdoc/>
    public void Dispose() => _one.Dispose();

    /// <summary>Sees to the stores first; and what can't be read here is no reason to end a host, which has other work.</summary>
    private async Task GuardAsync(Func<Task> work, CancellationToken cancellationToken)
    {
        try
        {
            await EnsureOnceAsync(cancellationToken);
            await work();
        }
        catch (StoreMismatchException e)
        {
            throw new NotPossibleException(e.Message);
        }
    }

    /// <summary>Creates what is missing: the container, the table, and the queue with its poison queue.</summary>
    private async Task EnsureOnceAsync(CancellationToken cancellationToken)
    {
        if (_ensured)
            return;
        await _one.WaitAsync(cancellationToken);
        try
        {
            if (_ensured)
                return;
            await _account.AccessLog.CreateAsync(cancellationToken);
            await _account.Usage.CreateAsync(cancellationToken);
            foreach (var queue in QueueNames.Access.SelectMany(name => (string[])[name, name + QueueNames.PoisonSuffix]))
                await _account.Queues.Get(queue).CreateAsync(cancellationToken);
            _ensured = true;
        }
        finally
        {
            _one.Release();
        }
    }

    [LoggerMessage(EventIds.AccessWorkPutOff, LogLevel.Warning, "a message of {Queue} is put off for {Delay}: {Reason}")]
    private partial void LogPutOff(string queue, TimeSpan delay, string reason);
}
