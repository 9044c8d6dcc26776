using System.Diagnostics;

namespace HibpIngest.Pipeline.Messaging;

/// <summary>
/// Runs a stage for one message, and decides for all stages what a failure means. A store that is unavailable costs no attempt: the
/// message is sent again with a growing delay and acknowledged, so that a minute without the store doesn't poison a backlog of
/// thousands. Work whose lease was lost is left to its new owner. Any other failure is recorded by the stage, and thrown if another
/// attempt may help, so that the host retries and, in the end, dead-letters.
/// </summary>
/// <param name="setup">Sets the stores up before the first message, for a host that can't do so before it listens; its failures
/// are treated like a stage's.</param>
public sealed partial class StageRunner(
    PipelineMessages messages, LoadTrace trace, IOptions<RetryOptions> options, Deferrals deferrals, ILogger<StageRunner> log,
    StoreSetup? setup = null)
{
    private static readonly TimeSpan FirstDelay = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan LongestDelay = TimeSpan.FromMinutes(10);

    public Task EnsureStoresAsync(CancellationToken cancellationToken) => setup?.EnsureOnceAsync(cancellationToken) ?? Task.CompletedTask;

    /// <summary>Runs work that holds no lease. Returns when it is durably done, or its message is deferred.</summary>
    public async Task RunAsync<TMessage>(TMessage message, Func<TMessage, Task> work)
        where TMessage : WorkMessage
    {
        try
        {
            await work(message);
        }
        catch (UnavailableException e)
        {
            await DeferAsync(message, default, e);
        }
    }

    /// <summary>Runs a stage under its lease. Returns when the message's work is durably done, or the message is deferred.</summary>
    public async Task RunAsync<TMessage, TWork>(TMessage message, IStage<TMessage, TWork> stage, CancellationToken cancellationToken)
        where TMessage : PipelineMessage
        where TWork : class, IStageWork
    {
        Activity? span = null;
        TWork? work = null;
        var ready = false;
        try
        {
            await EnsureStoresAsync(cancellationToken);
            ready = true;
            if (message.LoadId.Value > 0)
                span = LoadTrace.Start(
                    message.Span, message.LoadId, await trace.FindAsync(message.LoadId, message.Traceparent, cancellationToken));
            work = await stage.ClaimAsync(message, cancellationToken);
            if (work is null)
                return;
            // The load of a zip that was just dropped is known only now.
            span ??= LoadTrace.Start(message.Span, work.LoadId, await trace.FindAsync(work.LoadId, message.Traceparent, cancellationToken));
            span?.SetTag(TelemetryNames.Tags.Breach, work.Breach);
            // A message that was deferred because a store was unavailable may not have been able to return its attempt.
            if (work.Attempts > options.Value.MaxTries + message.Deferrals)
                throw new RetriesExhaustedException(stage.DescribeExhaustedRetries(work));
            await stage.RunAsync(work, cancellationToken);
        }
        catch (Exception e) when (work is not null && IsLost(e, work, cancellationToken))
        {
            await ReleaseAsync(e as LoadLostException ?? new LoadLostException(work.LoadId));
        }
        catch (UnavailableException e)
        {
            await DeferAndReleaseAsync(e);
        }
        catch (OperationCanceledException e)
        {
            span?.Fail(UnexpectedError.Stopped);
            await ReleaseAsync(e);
            throw;
        }
        catch (Exception e)
        {
            span?.Fail(UnexpectedError.Reason(e));
            if (work is null)
                throw;
            var redeliver = false;
            try
            {
                redeliver = await stage.FailAsync(work, e);
            }
            catch (UnavailableException down)
            {
                await DeferAndReleaseAsync(down);
            }
            if (redeliver && e is not RetriesExhaustedException)
                throw;
        }
        finally
        {
            if (work is not null)
                await work.DisposeAsync();
            span?.Dispose();
        }

        Task ReleaseAsync(Exception cause) =>
            work is null ? Task.CompletedTask : IgnoreUnavailableAsync(() => stage.ReleaseAsync(work, cause));

        async Task DeferAndReleaseAsync(UnavailableException down)
        {
            span?.Fail(down.Message);
            await ReleaseAsync(down);
            var load = ready ? work?.LoadId ?? message.LoadId : default;
            await DeferAsync(message, load, down);
            if (!message.MovesLoad || load == default)
                return;
            try
            {
                await messages.MarkSentAsync(load, CancellationToken.None);
            }
            catch (HibpException)
            {
                // Sweep then takes the message for lost and sends another, which changes nothing.
            }
        }
    }

    private static bool IsLost(Exception error, IStageWork work, CancellationToken cancellationToken) =>
        error is LoadLostException || (error is OperationCanceledException && work.IsLost && !cancellationToken.IsCancellationRequested);

    /// <param name="load">0 unless the stores are known to belong together.</param>
    private async Task DeferAsync<TMessage>(TMessage message, LoadId load, UnavailableException error)
        where TMessage : WorkMessage
    {
        // A store that throttles has taken what it could: the rest doesn't wait longer each time.
        var throttled = error is StoreThrottledException;
        var (queue, delay) = (message.GetQueue(), Delay(throttled ? 0 : message.Deferrals));
        LogDeferred(log, queue, delay, error.Message);
        deferrals.Report(new DeferredMessage(queue, load, error, delay));
        // If the queue is unavailable too, this throws, and the host's own visibility timeout redelivers the message.
        await messages.SendAsync(message with { Deferrals = message.Deferrals + (throttled ? 0 : 1) }, delay, CancellationToken.None);
    }

    /// <summary>Runs a follow-up of an error and ignores that a store is unavailable: the caller reports the error.</summary>
    internal static async Task IgnoreUnavailableAsync(Func<Task> action)
    {
        try
        {
            await action();
        }
        catch (UnavailableException)
        {
        }
    }

    /// <summary>Returns 30 s to 10 min, doubled for each deferral, with as much again at random; Sweep allows for at most 10 min.</summary>
    public static TimeSpan Delay(int deferrals)
    {
        var min = FirstDelay * Math.Pow(2, Math.Clamp(deferrals, 0, 10));
        return (min < LongestDelay / 2 ? min : LongestDelay / 2) * (1 + Random.Shared.NextDouble());
    }

    [LoggerMessage(EventIds.StageRunnerDeferred, LogLevel.Warning, "{Queue}: message deferred for {Delay}: {Reason}")]
    private static partial void LogDeferred(ILogger log, string queue, TimeSpan delay, string reason);
}

/// <summary>Every attempt of some work ended without an error: the process died each time, and would again.</summary>
public sealed class RetriesExhaustedException(string message) : BadInputException(message);
