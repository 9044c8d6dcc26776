using System.Diagnostics;
using HibpIngest.Errors;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Takes a message to its stage, and settles what a failure means in one place. Bad input is recorded by the stage, which then returns. A store that is down costs no try:
/// the message is sent again with a growing delay and acknowledged, so that a minute without it doesn't poison a backlog of thousands. Anything else is thrown, so that
/// the host tries again and, in the end, poisons.
/// </summary>
public sealed partial class PipelineDispatcher(PipelineContext context)
{
    private static readonly TimeSpan FirstDelay = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan LongestDelay = TimeSpan.FromMinutes(10);

    private readonly ILogger _log = context.Logs.CreateLogger<PipelineDispatcher>();
    private readonly IngestBreach _ingest = new(context);
    private readonly UpsertSlice _upsert = new(context);
    private readonly MatchSubscribers _match = new(context);
    private readonly SendNotifications _send = new(context);

    /// <summary>Returns when the message's work is durably done (or safely sent on); then, and only then, it may be deleted.</summary>
    /// <exception cref="UnreadableMessageException">The body is not a message of that queue.</exception>
    public Task DispatchAsync(string queue, string body, CancellationToken cancellationToken) => queue switch
    {
        QueueNames.Ingest => RunAsync<IngestMessage>(queue, body, _ingest.RunAsync, cancellationToken),
        QueueNames.Slices => RunAsync<SliceMessage>(queue, body, _upsert.RunAsync, cancellationToken),
        QueueNames.Match => RunAsync<MatchMessage>(queue, body, _match.RunAsync, cancellationToken),
        QueueNames.Mail => RunAsync<MailMessage>(queue, body, _send.RunAsync, cancellationToken),
        _ => throw new ArgumentException($"no stage takes messages of queue '{queue}'; expected one of {string.Join(", ", QueueNames.All)}", nameof(queue)),
    };

    private async Task RunAsync<T>(string queue, string body, Func<T, CancellationToken, Task> stage, CancellationToken cancellationToken)
        where T : PipelineMessage
    {
        var message = PipelineMessage.Parse<T>(body);
        using var activity = HibpTelemetry.Source.StartActivity(queue, ActivityKind.Consumer, message.Traceparent);
        try
        {
            await stage(message, cancellationToken);
        }
        catch (StoreUnavailableException e)
        {
            var delay = Delay(message.Deferrals);
            LogPutOff(queue, delay, e.Message);
            context.OnPutOff?.Invoke(e);
            // Should the queue be down too, this throws, and the host's own visibility timeout brings the message back.
            await context.SendAsync(queue, message with { Deferrals = message.Deferrals + 1 }, delay, CancellationToken.None);
        }
    }

    /// <summary>30 seconds, doubled each time, at most 10 minutes: the longest that Sweep reckons with.</summary>
    internal static TimeSpan Delay(int deferrals) => FirstDelay * Math.Pow(2, Math.Clamp(deferrals, 0, 10)) is var delay && delay < LongestDelay ? delay : LongestDelay;

    [LoggerMessage(1500, LogLevel.Warning, "a message of {Queue} is put off for {Delay}: {Reason}")]
    private partial void LogPutOff(string queue, TimeSpan delay, string reason);
}
