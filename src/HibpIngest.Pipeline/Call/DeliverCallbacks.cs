using HibpIngest.Errors;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Calls one client of whatever is due, for a while: one prefix a call, at most its cap in flight. Its key is the client, whose lease it
/// holds: a second delivery beside the first does nothing, as that one looks again at its end. What was accepted is recorded every
/// second; what a crash keeps from being recorded is called again under the same key.
/// </summary>
public sealed partial class DeliverCallbacks(
    ICallbacks callbacks, ICallbackClients clients, ICallbackBlobs blobs, InstallationKeys keys, ICallbackSender sender,
    CallSchedule schedule, IOptions<CallbackOptions> options, TimeProvider time, ILogger<DeliverCallbacks> log)
    : IStage<CallbackMessage, CallbackRun>
{
    // Opened at once: enough that as many calls as the largest cap are in flight, whatever a slice holds, and some MB at most.
    private const int MostDeliveries = 32;
    private const int MostCalls = 4_096;

    private static readonly TimeSpan RecordEvery = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan LongestPause = TimeSpan.FromHours(1);

    // So long a stopping host leaves calls that are in flight to end.
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(2);

    public async Task<CallbackRun?> TakeAsync(CallbackMessage message, CancellationToken cancellationToken)
    {
        var client = (await clients.ListAsync(cancellationToken)).FirstOrDefault(one => one.Number == message.Client);
        if (client is null)
        {
            await DropAsync(message.Client, cancellationToken);
            return null;
        }
        if (client.IsPaused)
            return null;
        var (owner, lease) = (LoadLeases.NewOwner(), new CallLease(time));
        if (await callbacks.TryBeginTurnAsync(client.Number, owner, CallLease.Duration, cancellationToken) is not { } turn)
            return null;
        if (turn.Pause is { } pause)
        {
            // Another host's clock is ahead of this one's. What is due much later, Sweep sends for.
            if (pause <= PipelineMessages.LongestHidden)
                await schedule.CallAsync(client.Number, pause, cancellationToken);
            return null;
        }
        CallbackRun? run = null;
        var pace = new CallPace(turn, client.Cap, PauseOf, time);
        try
        {
            if (await callbacks.ListDueDeliveriesAsync(client.Number, MostDeliveries, cancellationToken) is { Count: > 0 } due)
                run = new CallbackRun(client, owner, lease, pace, due);
            return run;
        }
        finally
        {
            if (run is null)
                await StageRunner.IgnoreUnavailableAsync(() => EndAsync(client.Number, owner, pace));
        }
    }

    /// <summary>Until nothing is due, the turn's time is up, or the client is to be left alone.</summary>
    public async Task RunAsync(CallbackRun work, CancellationToken cancellationToken)
    {
        var (client, pace) = (work.Client, work.Pace);
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Client, client.Number);
        var ended = false;
        try
        {
            for (var due = work.Due; due.Count > 0 && !pace.IsStopped && work.Lease.CoversCall;
                due = await callbacks.ListDueDeliveriesAsync(client.Number, MostDeliveries, cancellationToken))
            {
                await CallAsync(work, due, cancellationToken);
            }
            ended = true;
        }
        finally
        {
            if (!ended && !cancellationToken.IsCancellationRequested)
                pace.Fail(); // so that what fails each time doesn't without a pause
            Tell(client.Number, pace);
            if (pace.IsGone)
                await PauseClientAsync(client.Number);
            if (ended)
                await EndAsync(client.Number, work.Owner, pace);
            else
                await StageRunner.IgnoreUnavailableAsync(() => EndAsync(client.Number, work.Owner, pace));
        }
    }

    /// <inheritdoc/>
    /// <remarks>The turn was ended with the run.</remarks>
    public Task ReleaseAsync(CallbackRun work, Exception cause) => Task.CompletedTask;

    /// <inheritdoc/>
    /// <remarks>The client has its pause, and Sweep sends its message again.</remarks>
    public Task<bool> FailAsync(CallbackRun work, Exception error)
    {
        LogFailed(work.Client.Number, error is HibpException ? error.Message : UnexpectedError.Describe(error));
        return Task.FromResult(false);
    }

    public string UsedUp(CallbackRun work) => throw new NotSupportedException("its tries don't count");

    /// <summary>
    /// Doubled each time, up to an hour; up to a quarter less, so that those who failed together don't come back together.
    /// </summary>
    internal TimeSpan PauseOf(int before)
    {
        var pause = options.Value.CallPause * Math.Pow(2, Math.Clamp(before, 0, 20));
        return (pause < LongestPause ? pause : LongestPause) * (1 - (Random.Shared.NextDouble() / 4));
    }

    /// <summary>Some of what is due.</summary>
    private async Task CallAsync(CallbackRun work, IReadOnlyList<CallbackDelivery> due, CancellationToken cancellationToken)
    {
        var chosen = new List<CallbackDelivery>();
        for (var (i, calls) = (0, 0); i < due.Count && calls < MostCalls; calls += due[i++].Calls)
            chosen.Add(due[i]);
        var (opened, settled) = await OpenAsync(work.Client, chosen, cancellationToken);
        if (settled.Count > 0)
            await RecordAsync(work, settled, null, cancellationToken);
        if (opened.Count == 0)
            return;
        if (OpenSecret(work.Client) is not { } target)
        {
            LogNoSecret(work.Client.Number);
            work.Pace.Fail();
            const string Reason = "what the client is called with is sealed under a HIBP_SECRET_KEY that this host doesn't have";
            await RecordAsync(work, [.. opened.Select(one => Failed(one.Delivery, Reason))], null, cancellationToken);
            return;
        }
        var pool = new CallPool(opened);
        try
        {
            await CallAsync(work, pool, target, cancellationToken);
        }
        finally
        {
            // What was accepted is recorded in any case.
            if (!work.Lease.IsLost)
                await RecordAsync(work, pool.Results(PauseOf), pool, CancellationToken.None);
        }
    }

    private async Task CallAsync(CallbackRun work, CallPool pool, CallTarget target, CancellationToken cancellationToken)
    {
        using var breakOff = new CancellationTokenSource();
        using var stopping = cancellationToken.Register(() => breakOff.CancelAfter(Grace));
        using var ended = new CancellationTokenSource();
        var recording = RecordWhileAsync(work, pool, ended.Token);
        try
        {
            await Task.WhenAll(Enumerable.Range(0, work.Client.Cap).Select(
                _ => Task.Run(() => CallOneByOneAsync(work, pool, target, breakOff.Token, cancellationToken), CancellationToken.None)));
        }
        finally
        {
            await ended.CancelAsync();
            await recording;
        }
        cancellationToken.ThrowIfCancellationRequested();
    }

    private async Task CallOneByOneAsync(
        CallbackRun work, CallPool pool, CallTarget target, CancellationToken breakOff, CancellationToken cancellationToken)
    {
        while (!cancellationToken.IsCancellationRequested && pool.TryTake(out var call))
        {
            TimeSpan? wait;
            while ((wait = work.Pace.Before()) > TimeSpan.Zero)
                await Task.Delay(wait.Value, time, cancellationToken);
            if (wait is null || !work.Lease.CoversCall)
                return;
            var (body, key) = pool.Make(call);
            var began = time.GetTimestamp();
            var answer = await sender.CallAsync(target, body, key, breakOff);
            work.Pace.After(answer, began);
            pool.Settle(call, answer);
        }
    }

    /// <summary>Records what was accepted, prolongs the lease, and looks whether what is being sent is still to be.</summary>
    private async Task RecordWhileAsync(CallbackRun work, CallPool pool, CancellationToken ended)
    {
        using var timer = new PeriodicTimer(RecordEvery, time);
        try
        {
            while (await timer.WaitForNextTickAsync(ended) && !work.Lease.IsLost)
            {
                try
                {
                    await RecordAsync(work, pool.TakeChanged(), pool, CancellationToken.None);
                }
                catch (StoreUnavailableException)
                {
                    // It may be back before the lease ends; until then calls go on, and what they were is recorded at the end.
                }
            }
        }
        catch (OperationCanceledException) when (ended.IsCancellationRequested)
        {
            // The calls have ended.
        }
        catch
        {
            // A defect: nothing is begun any more, and the record at the end meets it again.
            work.Pace.Stop();
        }
    }

    private async Task RecordAsync(
        CallbackRun work, IReadOnlyList<CallbackResult> results, CallPool? pool, CancellationToken cancellationToken)
    {
        var began = time.GetTimestamp();
        var stopped = await callbacks.RecordDeliveriesAsync(
            work.Client.Number, work.Owner, CallLease.Duration, results, pool?.Keys ?? [], options.Value.CallGiveUp, cancellationToken);
        if (stopped is null)
        {
            LogLost(work.Client.Number);
            work.Lease.IsLost = true;
            work.Pace.Stop();
            return;
        }
        work.Lease.Prolong(began);
        foreach (var delivery in stopped)
            pool?.Halt(delivery);
        foreach (var result in results.Where(one => one.State is CallbackState.Done or CallbackState.Dropped))
            await blobs.DeleteAsync(result.Key, cancellationToken);
    }

    /// <summary>What can be called; and what became of what can't.</summary>
    private async Task<(List<(CallbackDelivery Delivery, CallList Calls)> Opened, List<CallbackResult> Settled)> OpenAsync(
        CallbackClient client, IReadOnlyList<CallbackDelivery> due, CancellationToken cancellationToken)
    {
        var (opened, settled) = (new List<(CallbackDelivery, CallList)>(), new List<CallbackResult>());
        var contents = await Task.WhenAll(due.Select(one => blobs.ReadAsync(one.Key, cancellationToken)));
        foreach (var (delivery, content) in due.Zip(contents))
        {
            if (!client.IsCalledOf(delivery.Flags))
            {
                settled.Add(new CallbackResult(
                    delivery.Key, delivery.Done ?? [], delivery.Answered, CallbackState.Dropped,
                    "the breach was retired, or made sensitive, before this was called"));
            }
            else if (content is null)
            {
                settled.Add(Failed(delivery, "what it was to be called of is gone"));
            }
            else if (keys.Secret is not { } secret || CallList.Open(secret, delivery.Key, content) is not { } calls
                || calls.Count != delivery.Calls)
            {
                settled.Add(Failed(delivery, "what it was to be called of is sealed under a HIBP_SECRET_KEY that this host doesn't have"));
            }
            else
            {
                opened.Add((delivery, calls));
            }
        }
        return (opened, settled);
    }

    private CallbackResult Failed(CallbackDelivery delivery, string reason) => new(
        delivery.Key, delivery.Done ?? [], delivery.Answered, CallbackState.Open, reason, PauseOf(delivery.Deferrals));

    private CallTarget? OpenSecret(CallbackClient client) =>
        ClientOperations.OpenSecret(client, keys.Secret) is { } secret ? new CallTarget(new Uri(client.Url), secret) : null;

    private async Task EndAsync(int client, string owner, CallPace pace)
    {
        // A message within the longest that one may be hidden; what is due later, Sweep sends for.
        var next = await callbacks.EndTurnAsync(
            client, owner, pace.End(), options.Value.CallGiveUp, PipelineMessages.LongestHidden, CancellationToken.None);
        if (next is { } due)
            await schedule.CallAsync(client, due, CancellationToken.None);
    }

    private void Tell(int client, CallPace pace)
    {
        foreach (var outcome in Enum.GetValues<CallOutcome>())
            HibpTelemetry.Called(client, outcome.ToString().ToLowerInvariant(), pace.Count(outcome));
        var accepted = pace.Count(CallOutcome.Accepted);
        var others = Enum.GetValues<CallOutcome>().Sum(pace.Count) - accepted;
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Sent, accepted).SetTag(TelemetryNames.Tags.Refused, others);
        LogCalled(client, accepted, others);
    }

    /// <summary>It asked not to be called any more: until an operator resumes it, it isn't.</summary>
    private async Task PauseClientAsync(int number)
    {
        CallbackClient? client;
        do
        {
            client = (await clients.ListAsync(CancellationToken.None)).FirstOrDefault(one => one.Number == number);
        }
        while (client is { IsPaused: false } && !await clients.ChangeAsync(client with { IsPaused = true }, CancellationToken.None));
        LogGone(number);
    }

    /// <summary>Of a client that was removed.</summary>
    private async Task DropAsync(int client, CancellationToken cancellationToken)
    {
        var (dropped, _) = await callbacks.DropDeliveriesAsync(client, null, withOpen: true, "its client was removed", cancellationToken);
        foreach (var delivery in dropped)
            await blobs.DeleteAsync(delivery, cancellationToken);
    }
}
