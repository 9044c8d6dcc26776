using System.Runtime.ExceptionServices;
using HibpIngest.AzureStorage;
using HibpIngest.Errors;
using HibpIngest.Hosting.Web;
using HibpIngest.Passwords;
using HibpIngest.Pipeline;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting;

/// <summary>
/// What hosts do for Pwned Passwords beside the pipeline: the one place that knows which class takes which port, and which queue's
/// messages. It needs no database. Safe for use by many at once.
/// </summary>
public sealed partial class PasswordWork : IDisposable
{
    // A group fills a core and has some 30 MB in memory, and its pack, of up to 200 MB, on the disk; hosts hand over 24 at a time.
    private static readonly int GroupsAtOnce = Math.Clamp(Environment.ProcessorCount, 1, 4);

    // Well within the 10 minutes that a host may cut a function off at: what has waited for so long comes again.
    private static readonly TimeSpan LongestWait = TimeSpan.FromMinutes(4);

    private readonly StorageAccount _account;
    private readonly ReplicaAccounts _replicas;
    private readonly ILogger _log;
    private readonly AppendPasswords _append;
    private readonly SweepAppends _sweepAppends;
    private readonly PurgeChanges _purge;
    private readonly PlanImport _plan;
    private readonly ImportGroup _group;
    private readonly SweepImports _sweep;
    private readonly SemaphoreSlim _groups = new(GroupsAtOnce);
    private readonly SemaphoreSlim _one = new(1);
    private volatile bool _ensured;

    private PasswordWork(StorageAccount account, PasswordOptions options, string site, TimeProvider time, ILoggerFactory logs)
    {
        (_account, _log) = (account, logs.CreateLogger<PasswordWork>());
        _replicas = ReplicaAccounts.Open(account, options, time, logs);
        var (stores, appends) = (WebFactory.PasswordsOf(account), account.PasswordAppends);
        var queue = account.Queues.Get(QueueNames.PasswordsAppend);
        _append = new AppendPasswords(stores, appends, queue, time, logs.CreateLogger<AppendPasswords>());
        _sweepAppends = new SweepAppends(appends, queue, time, logs.CreateLogger<SweepAppends>());
        _purge = new PurgeChanges(stores, PasswordsFactory.HookOf(options, logs), site);
        var releases = PasswordsFactory.ReleasesOf(account, options, time, logs);
        var plans = new ImportPlans(account.PasswordBlobs);
        var messages = new ImportMessages(
            account.Queues.Get(QueueNames.PasswordsImport), account.Queues.Get(QueueNames.PasswordsImport + QueueNames.PoisonSuffix));
        var complete = new CompleteImport(
            WebFactory.PasswordsOf(account), releases, new ReplicatedReleases(releases, _replicas.Replicas), account.PasswordDrops, plans,
            time, logs.CreateLogger<CompleteImport>());
        _plan = new PlanImport(account.PasswordDrops, plans, releases, messages, complete, time, logs.CreateLogger<PlanImport>());
        _group = new ImportGroup(account.PasswordBlobs, account.PasswordDrops, plans, complete);
        _sweep = new SweepImports(
            account.PasswordDrops, plans, messages, _plan, complete, time, logs.CreateLogger<SweepImports>());
    }

    /// <summary>Opens what it needs; calls nothing.</summary>
    /// <param name="account">Where everything is; stays the caller's.</param>
    /// <param name="options">For replicas, and caches that are told of a switch.</param>
    /// <param name="site">Where people reach the API (HIBP_WEB_URL).</param>
    /// <param name="time">The clock.</param>
    /// <param name="logs">Where everything is logged.</param>
    /// <exception cref="BadInputException">The options name a replica or an address that is none.</exception>
    public static PasswordWork Open(
        StorageAccount account, PasswordOptions options, string site, TimeProvider time, ILoggerFactory logs) =>
        new(account, options, site, time, logs);

    /// <summary>Takes on the present version of a dropped file; a version that was taken on is not again.</summary>
    /// <param name="file">Its name within the container.</param>
    /// <param name="cancellationToken">Stops it; the next scan finds the file.</param>
    public Task PlanAsync(string file, CancellationToken cancellationToken) => GuardAsync(async () =>
    {
        // Gone, or replaced: whatever is there now has an event of its own.
        if (await _account.PasswordDrops.FindAsync(file, cancellationToken) is { } found)
            await _plan.RunAsync(found, cancellationToken);
    }, cancellationToken);

    /// <summary>
    /// Returns when the message's work is durably done, or the message sent again because a store is down; then, and only then, it
    /// may be deleted.
    /// </summary>
    /// <exception cref="BadInputException">The body is no message of that queue.</exception>
    public async Task DispatchAsync(string queue, string body, CancellationToken cancellationToken)
    {
        try
        {
            // A queue, and what is done with its messages.
            await GuardAsync(() => queue switch
            {
                QueueNames.PasswordsImport => ImportAsync(ImportMessage.Parse(body), cancellationToken),
                QueueNames.PasswordsAppend => _append.RunAsync(body, cancellationToken),
                _ => throw new ArgumentException($"no message of queue '{queue}' is of passwords", nameof(queue)),
            }, cancellationToken);
        }
        catch (StoreUnavailableException e)
        {
            var delay = StageRunner.Delay(0);
            LogPutOff(queue, delay, e.Message);
            // Should the queue be down too, this throws, and the host's own visibility timeout brings the message back.
            await _account.Queues.Get(queue).SendAsync(body, delay, CancellationToken.None);
        }
    }

    /// <summary>Takes on files that no event has announced.</summary>
    /// <param name="minimumAge">Younger ones are left to the next scan, or to the event that is on its way.</param>
    /// <param name="cancellationToken">Ends it between two files.</param>
    public Task ScanAsync(TimeSpan minimumAge, CancellationToken cancellationToken) =>
        GuardAsync(() => _sweep.ScanAsync(minimumAge, cancellationToken), cancellationToken);

    /// <summary>Goes on with what was broken off between two steps, and takes on files whose event was lost.</summary>
    /// <param name="minimumAge">As in <see cref="ScanAsync"/>.</param>
    /// <param name="cancellationToken">Ends it between two pieces of work.</param>
    public Task SweepAsync(TimeSpan minimumAge, CancellationToken cancellationToken) => GuardAsync(async () =>
    {
        HibpException? failed = null;
        foreach (var sweep in (Func<Task>[])
        [
            () => _sweep.RunAsync(minimumAge, cancellationToken), () => _sweepAppends.RunAsync(cancellationToken),
            () => _purge.RunAsync(cancellationToken),
        ])
        {
            try
            {
                await sweep();
            }
            catch (HibpException e)
            {
                // What one can't do is no reason for the others to wait.
                failed ??= e;
            }
        }
        if (failed is not null)
            ExceptionDispatchInfo.Throw(failed);
    }, cancellationToken);

    /// <inheritdoc/>
    public void Dispose()
    {
        _replicas.Dispose();
        _groups.Dispose();
        _one.Dispose();
    }

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

    private async Task ImportAsync(ImportMessage message, CancellationToken cancellationToken)
    {
        if (!await _groups.WaitAsync(LongestWait, cancellationToken))
            throw new StoreThrottledException("others of them take longer here");
        try
        {
            await _group.RunAsync(message, cancellationToken);
        }
        finally
        {
            _groups.Release();
        }
    }

    /// <summary>Creates what is missing: containers, and queues with their poison queues.</summary>
    private async Task EnsureOnceAsync(CancellationToken cancellationToken)
    {
        if (_ensured)
            return;
        await _one.WaitAsync(cancellationToken);
        try
        {
            if (_ensured)
                return;
            await _account.PasswordBlobs.CreateAsync(cancellationToken);
            await _account.PasswordDrops.CreateAsync(cancellationToken);
            await _account.PasswordAppends.CreateAsync(cancellationToken);
            foreach (var queue in QueueNames.Passwords.SelectMany(name => (string[])[name, name + QueueNames.PoisonSuffix]))
                await _account.Queues.Get(queue).CreateAsync(cancellationToken);
            _ensured = true;
        }
        finally
        {
            _one.Release();
        }
    }

    [LoggerMessage(EventIds.PasswordWorkPutOff, LogLevel.Warning, "a message of {Queue} is put off for {Delay}: {Reason}")]
    private partial void LogPutOff(string queue, TimeSpan delay, string reason);
}
