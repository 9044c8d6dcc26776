using System.Diagnostics;
using HibpIngest.Errors;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Runs a stage for one message, and decides for all of them what a failure means. A store that is down costs no try:
/// the message is sent again with a growing delay and acknowledged, so that a minute without it doesn't poison a
/// backlog of thousands. Work that is somebody else's by now is left to them. Anything else is recorded by the stage,
/// and thrown where another try may help, so that the host tries again and, in the end, poisons.
/// </summary>
/// <param name="messages">The queues.</param>
/// <param name="trace">Which trace a load's spans are of.</param>
/// <param name="options">For the tries.</param>
/// <param name="deferrals">Reports every deferred message.</param>
/// <param name="log">Where what was put off is logged.</param>
/// <param name="setup">Makes sure of the stores before the first message, for a host that can't do so before it
/// listens; its failures are settled like a stage's.</param>
public sealed partial class StageRunner(
    PipelineMessages messages, LoadTrace trace, PipelineOptions options, Deferrals deferrals, ILogger<StageRunner> log,
    StoreSetup? setup = null)
{
    private static readonly TimeSpan FirstDelay = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan LongestDelay = TimeSpan.FromMinutes(10);

    /// <summary>Makes sure of the stores, once, where the host has not done so.</summary>
    public Task EnsureStoresAsync(CancellationToken cancellationToken) => setup?.EnsureOnceAsync(cancellationToken) ?? Task.CompletedTask;

    /// <summary>Returns when the message's work is durably done, or the message safely sent on.</summary>
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
            if (message.LoadId > 0)
                span = LoadTrace.Start(
                    message.Span, message.LoadId, await trace.FindAsync(message.LoadId, message.Traceparent, cancellationToken));
            work = await stage.TakeAsync(message, cancellationToken);
            if (work is null)
                return;
            // Which load a fresh zip is, is known from here on.
            span ??= LoadTrace.Start(message.Span, work.LoadId, await trace.FindAsync(work.LoadId, message.Traceparent, cancellationToken));
            span?.SetTag(TelemetryNames.Tags.Breach, work.Breach);
            // A message that was put off because a store was down may not have been able to give its try back.
            if (work.Attempts > options.MaxTries + message.Deferrals)
                throw new TriesUsedUpException(stage.UsedUp(work));
            await stage.RunAsync(work, cancellationToken);
        }
        catch (Exception e) when (work is not null && IsLost(e, work, cancellationToken))
        {
            await ReleaseAsync(stage, work, e as LoadLostException ?? new LoadLostException(work.LoadId));
        }
        catch (StoreUnavailableException e)
        {
            await StepAsideAsync(e);
        }
        catch (OperationCanceledException e)
        {
            span?.Fail(UnexpectedError.Stopped);
            await ReleaseAsync(stage, work, e);
            throw;
        }
        catch (Exception e)
        {
            span?.Fail(UnexpectedError.Reason(e));
            if (work is null)
                throw;
            var comesAgain = false;
            try
            {
                comesAgain = await stage.FailAsync(work, e);
            }
            catch (StoreUnavailableException down)
            {
                await StepAsideAsync(down);
            }
            if (comesAgain && e is not TriesUsedUpException)
                throw;
        }
        finally
        {
            if (work is not null)
                await work.DisposeAsync();
            span?.Dispose();
        }

        async Task StepAsideAsync(StoreUnavailableException down)
        {
            span?.Fail(down.Message);
            await ReleaseAsync(stage, work, down);
            await PutOffAsync(message, ready ? work?.LoadId ?? message.LoadId : 0, down);
        }
    }

    private static bool IsLost(Exception error, IStageWork work, CancellationToken cancellationToken) =>
        error is LoadLostException || (error is OperationCanceledException && work.IsLost && !cancellationToken.IsCancellationRequested);

    private static Task ReleaseAsync<TMessage, TWork>(IStage<TMessage, TWork> stage, TWork? work, Exception cause)
        where TMessage : PipelineMessage
        where TWork : class, IStageWork =>
        work is null ? Task.CompletedTask : IgnoreUnavailableAsync(() => stage.ReleaseAsync(work, cause));

    /// <param name="message">What is put off.</param>
    /// <param name="load">Its load, where the stores are known to be those that it is of; else 0.</param>
    /// <param name="error">Why.</param>
    private async Task PutOffAsync(PipelineMessage message, long load, StoreUnavailableException error)
    {
        // One that throttles has taken what it could: the rest has no need to wait longer each time.
        var throttled = error is StoreThrottledException;
        var delay = Delay(throttled ? 0 : message.Deferrals);
        LogPutOff(log, message.Queue, delay, error.Message);
        deferrals.Report(new PutOff(message.Queue, load, error, delay));
        // Should the queue be down too, this throws, and the host's own visibility timeout brings the message back.
        await messages.SendAsync(message with { Deferrals = message.Deferrals + (throttled ? 0 : 1) }, delay, CancellationToken.None);
        if (!message.MovesLoad || load == 0)
            return;
        try
        {
            await messages.MarkSentAsync(load, CancellationToken.None);
        }
        catch (HibpException)
        {
            // Sweep takes the message for lost then, and sends another, which changes nothing.
        }
    }

    /// <summary>For what is tried behind an error that is the one to show, or that the next call says again.</summary>
    internal static async Task IgnoreUnavailableAsync(Func<Task> action)
    {
        try
        {
            await action();
        }
        catch (StoreUnavailableException)
        {
            // As the summary says.
        }
    }

    /// <summary>
    /// 30 seconds, doubled each time, and as much again at random, so that what was put off together doesn't
    /// come back together; at most 10 minutes: the longest that Sweep reckons with.
    /// </summary>
    public static TimeSpan Delay(int deferrals)
    {
        var least = FirstDelay * Math.Pow(2, Math.Clamp(deferrals, 0, 10));
        return (least < LongestDelay / 2 ? least : LongestDelay / 2) * (1 + Random.Shared.NextDouble());
    }

    [LoggerMessage(EventIds.StageRunnerPutOff, LogLevel.Warning, "a message of {Queue} is put off for {Delay}: {Reason}")]
    private static partial void LogPutOff(ILogger log, string queue, TimeSpan delay, string reason);
}
