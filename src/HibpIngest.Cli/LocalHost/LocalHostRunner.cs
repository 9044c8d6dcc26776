using System.Collections.Concurrent;
using System.Runtime.ExceptionServices;
using HibpIngest.Hosting.Messages;
using HibpIngest.Pipeline.Setup;
using Microsoft.Extensions.Hosting;

namespace HibpIngest.Cli.LocalHost;

/// <summary>
/// Runs the hosted services of a local host, which stands in for the Functions host on a laptop, a VM or a container and keeps its rules
/// (<see cref="QueueListenerOptions"/>). Any number of local hosts may run against the same stores.
/// If one service ends with an error, all of them stop: a host that does half of its work would look alive.
/// </summary>
internal sealed partial class LocalHostRunner(
    LocalHostOptions options, BlockedWork blocked, IHostApplicationLifetime lifetime, TimeProvider time, ILoggerFactory logs)
    : IHostLifetime
{
    private readonly ILogger _log = logs.CreateLogger("HibpIngest.LocalHost");

    private readonly ConcurrentDictionary<string, int> _inProgress = new();

    private Exception? _failure;

    internal StoreHealth Health { get; } = new(
        logs.CreateLogger("HibpIngest.LocalHost"), (what, reason, pause) => blocked.Note(default, what, reason, pause));

    /// <summary>Sets up the stores, waiting for unavailable ones, then runs until cancelled. Stages stop at a batch boundary.</summary>
    public static async Task RunAsync(IHost host, CancellationToken cancellationToken)
    {
        await host.Services.GetRequiredService<StoreSetup>().EnsureOnceAsync(cancellationToken);
        await host.Services.GetRequiredService<LocalHostRunner>().RunUntilStoppedAsync(host, cancellationToken);
    }

    private async Task RunUntilStoppedAsync(IHost host, CancellationToken cancellationToken)
    {
        await host.StartAsync(CancellationToken.None);
        LogStarted(options.Roles);
        using var stopping = cancellationToken.Register(() =>
        {
            // Before the stop, so that the count includes all messages in progress.
            options.OnStopping?.Invoke(_inProgress.Where(queue => queue.Value > 0).ToDictionary());
            lifetime.StopApplication();
        });
        await host.WaitForShutdownAsync(CancellationToken.None);
        LogStopped();
        if (_failure is not null)
            ExceptionDispatchInfo.Throw(_failure);
    }

    /// <summary>A loop that ends by itself stops the host, which rethrows its error.</summary>
    internal async Task RunLoopAsync(Func<CancellationToken, Task> loop)
    {
        // A loop that starts with synchronous work must not delay the others.
        await Task.Yield();
        Exception? failure = null;
        try
        {
            await loop(lifetime.ApplicationStopping);
        }
        catch (OperationCanceledException) when (lifetime.ApplicationStopping.IsCancellationRequested)
        {
        }
        catch (Exception e)
        {
            failure = e;
        }
        Stop(failure);
    }

    /// <summary>A failed run is logged, as by the Functions host, and the next follows.</summary>
    internal Task RepeatAsync(string what, TimeSpan every, Func<CancellationToken, Task> work) => RunLoopAsync(async stop =>
    {
        while (true)
        {
            try
            {
                await work(stop);
                Health.Up(what);
            }
            catch (UnavailableException e)
            {
                Health.Down(what, e, every);
            }
            catch (Exception e) when (e is not (OperationCanceledException or StoreRefusedException or StoreMismatchException))
            {
                LogRunFailed(what, e is HibpException ? e.Message : UnexpectedError.Describe(e));
                options.OnFailure?.Invoke(what, e);
            }
            await Task.Delay(every, time, stop);
        }
    });

    internal async Task WorkAsync(string queue, Func<Task> work)
    {
        _inProgress.AddOrUpdate(queue, 1, (_, count) => count + 1);
        try
        {
            await work();
        }
        catch (StoreMismatchException e)
        {
            // Every other message would fail too. Stopped before the listener handles the failure, no attempt of this one is counted.
            Stop(e);
            throw;
        }
        finally
        {
            _inProgress.AddOrUpdate(queue, 0, (_, count) => count - 1);
        }
    }

    // The command handles signals, not the host.
    Task IHostLifetime.WaitForStartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    Task IHostLifetime.StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    private void Stop(Exception? failure)
    {
        Interlocked.CompareExchange(ref _failure, failure, null);
        lifetime.StopApplication();
    }

    [LoggerMessage(EventIds.LocalHostStarted, LogLevel.Information, "local host: started (roles: {Roles})")]
    private partial void LogStarted(HostRoles roles);

    [LoggerMessage(EventIds.LocalHostRunFailed, LogLevel.Error, "{What} failed: {Reason}")]
    private partial void LogRunFailed(string what, string reason);

    [LoggerMessage(EventIds.LocalHostStopped, LogLevel.Information, "local host: stopped")]
    private partial void LogStopped();
}
