using System.Diagnostics;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Takes a message to its stage, and settles what a failure means in one place. Bad input is recorded by the
/// stage, which then returns. A store that is down costs no try: the message is sent again with a growing delay
/// and acknowledged, so that a minute without it doesn't poison a backlog of thousands. Anything else is
/// thrown, so that the host tries again and, in the end, poisons.
/// </summary>
/// <param name="setup">Makes sure of the stores before the first message, for a host that can't do so before it
/// listens; its failures are settled like a stage's.</param>
public sealed partial class PipelineDispatcher(PipelineContext context, StoreSetup? setup = null)
{
    // Half a minute is what the plan's limit leaves beyond budget and last batch; a message that has waited
    // this long goes back to its queue, where another process may take it.
    private static readonly TimeSpan TurnTimeout = TimeSpan.FromSeconds(10);

    private static readonly TimeSpan FirstDelay = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan LongestDelay = TimeSpan.FromMinutes(10);

    private readonly ILogger _log = context.Logs.CreateLogger<PipelineDispatcher>();
    private readonly LoadTrace _trace = new(context.Database);
    private readonly IngestBreach _ingest = new(context);
    private readonly UpsertSlice _upsert = new(context);
    private readonly MatchSubscribers _match = new(context);
    private readonly SendNotifications _send = new(context);
    private readonly SemaphoreSlim _turn = new(1);

    /// <summary>
    /// Returns when the message's work is durably done (or safely sent on); then, and only then, it may be
    /// deleted.
    /// </summary>
    /// <exception cref="UnreadableMessageException">The body is not a message of that queue.</exception>
    public Task DispatchAsync(string queue, string body, CancellationToken cancellationToken) => queue switch
    {
        QueueNames.Ingest => RunAsync(queue, PipelineMessage.Parse<IngestMessage>(body), IngestAsync, cancellationToken),
        QueueNames.Slices => RunAsync(queue, PipelineMessage.Parse<SliceMessage>(body), _upsert.RunAsync, cancellationToken),
        QueueNames.Match => RunAsync(queue, PipelineMessage.Parse<MatchMessage>(body), _match.RunAsync, cancellationToken),
        QueueNames.Mail => RunAsync(queue, PipelineMessage.Parse<MailMessage>(body), _send.RunAsync, cancellationToken),
        _ => throw new ArgumentException($"no stage takes messages of queue '{queue}'; expected one of {string.Join(", ", QueueNames.All)}", nameof(queue)),
    };

    /// <summary>
    /// Takes on the present version of a blob that an event announced, and ingests it. As for
    /// <see cref="BlobScan"/>, a version fires once: another event of it does nothing, except that it goes on
    /// with what was cut off. Returns when the ingest has ended, or is safely handed on.
    /// </summary>
    /// <param name="blob">Its name within the container.</param>
    /// <exception cref="StoreUnavailableException">The blobs can't be reached, so that there is nothing yet to
    /// be sent on; the next blob scan finds it too.</exception>
    public async Task IngestBlobAsync(string blob, CancellationToken cancellationToken)
    {
        // Gone, or replaced: whatever is there now has an event of its own.
        if (await context.Blobs.FindAsync(blob, cancellationToken) is not { Version: var version })
            return;
        if (!NameText.HoldsAt(blob))
        {
            await RunAsync(QueueNames.Ingest, new IngestMessage { Blob = version.Name, ETag = version.ETag }, TakeOnAsync, cancellationToken);
            return;
        }
        if (setup is not null)
            await setup.EnsureOnceAsync(cancellationToken);
        await _ingest.RefuseAsync(version, cancellationToken);
    }

    private async Task TakeOnAsync(IngestMessage message, CancellationToken cancellationToken)
    {
        var version = new BlobVersion(message.Blob!, message.ETag!);
        if (await context.Register.HasReceiptAsync(version, cancellationToken))
        {
            // Taken on before. Where no load is open the database is not asked.
            if ((await context.Register.ListOpenAsync(cancellationToken)).Count == 0
                || await context.Database.FindLoadAsync(version, cancellationToken) is not { State: LoadState.Ingesting } load)
            {
                return;
            }
            message = new IngestMessage { Load = load.Id };
        }
        await IngestAsync(message, cancellationToken);
    }

    /// <summary>One ingest a process: its dedupe set may take most of the memory.</summary>
    private async Task IngestAsync(IngestMessage message, CancellationToken cancellationToken)
    {
        if (!await TakeTurnAsync(cancellationToken))
        {
            LogNotItsTurn(FirstDelay);
            await context.SendAsync(QueueNames.Ingest, message, FirstDelay, CancellationToken.None);
            return;
        }
        try
        {
            await _ingest.RunAsync(message, cancellationToken);
        }
        finally
        {
            _turn.Release();
        }
    }

    private async Task<bool> TakeTurnAsync(CancellationToken cancellationToken)
    {
        using var patience = new CancellationTokenSource(TurnTimeout, context.Time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, patience.Token);
        try
        {
            await _turn.WaitAsync(either.Token);
            return true;
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            return false;
        }
    }

    private async Task RunAsync<T>(string queue, T message, Func<T, CancellationToken, Task> stage, CancellationToken cancellationToken)
        where T : PipelineMessage
    {
        Activity? activity = null;
        try
        {
            if (setup is not null)
                await setup.EnsureOnceAsync(cancellationToken);
            // Which load a fresh zip is, its stage finds out: it starts the span.
            if (message.LoadId > 0)
                activity = LoadTrace.Start(message.Span, message.LoadId, await _trace.FindAsync(message.LoadId, message.Traceparent, cancellationToken));
            await stage(message, cancellationToken);
        }
        catch (StoreUnavailableException e)
        {
            activity?.SetStatus(ActivityStatusCode.Error, e.Message);
            // One that throttles has taken what it could: the rest has no need to wait longer each time.
            var throttled = e is StoreThrottledException;
            var delay = throttled ? Delay(0) : Delay(message.Deferrals);
            LogPutOff(queue, delay, e.Message);
            context.OnPutOff?.Invoke(e);
            // Should the queue be down too, this throws, and the host's own visibility timeout brings the message back.
            await context.SendAsync(queue, message with { Deferrals = message.Deferrals + (throttled ? 0 : 1) }, delay, CancellationToken.None);
        }
        catch (Exception e)
        {
            activity?.SetStatus(ActivityStatusCode.Error, UnexpectedError.Reason(e));
            throw;
        }
        finally
        {
            activity?.Dispose();
        }
    }

    /// <summary>
    /// 30 seconds, doubled each time, and as much again at random, so that what was put off together doesn't
    /// come back together; at most 10 minutes: the longest that Sweep reckons with.
    /// </summary>
    internal static TimeSpan Delay(int deferrals)
    {
        var least = FirstDelay * Math.Pow(2, Math.Clamp(deferrals, 0, 10));
        return (least < LongestDelay / 2 ? least : LongestDelay / 2) * (1 + Random.Shared.NextDouble());
    }

    [LoggerMessage(EventIds.PipelineDispatcherPutOff, LogLevel.Warning, "a message of {Queue} is put off for {Delay}: {Reason}")]
    private partial void LogPutOff(string queue, TimeSpan delay, string reason);

    [LoggerMessage(EventIds.PipelineDispatcherNotItsTurn, LogLevel.Information, "another ingest is running in this process: an ingest message is put off for {Delay}")]
    private partial void LogNotItsTurn(TimeSpan delay);
}
