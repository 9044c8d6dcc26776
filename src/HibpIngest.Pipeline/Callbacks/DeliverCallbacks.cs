namespace HibpIngest.Pipeline.Callbacks;

/// <summary>
/// Makes the calls that are due to one client, one prefix a call, with at most its cap in flight, for one turn. Idempotency key: the
/// client, under a lease. A concurrent redelivery does nothing, because the running turn checks for due deliveries at its end. Accepted
/// calls are recorded every second; a call that was not recorded because of a crash is repeated with the same idempotency key.
/// </summary>
public sealed partial class DeliverCallbacks(
    ICallbacks callbacks, ICallbackClients clients, CallLists lists, ICallbackSender sender, CallSchedule schedule, TimeProvider time,
    ILogger<DeliverCallbacks> log)
    : IStage<CallbackMessage, CallbackRun>
{
    // Opened together: enough to keep the largest cap in flight however little a slice holds, and a few MB at most.
    private const int MaxDeliveries = 32;
    private const int MaxCalls = 4_096;

    private static readonly TimeSpan RecordEvery = TimeSpan.FromSeconds(1);

    // A stopping host gives calls in flight this long to end.
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(2);

    public async Task<CallbackRun?> ClaimAsync(CallbackMessage message, CancellationToken cancellationToken)
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
            // The database's clock is ahead of this host's. Sweep sends the message for anything due much later.
            if (pause <= PipelineMessages.MaxHidden)
                await schedule.CallAsync(client.Number, pause, cancellationToken);
            return null;
        }
        CallbackRun? run = null;
        var pace = new CallPace(turn, client.Cap, lists.PauseOf, time);
        try
        {
            if (await callbacks.ListDueDeliveriesAsync(client.Number, MaxDeliveries, cancellationToken) is { Count: > 0 } due)
                run = new CallbackRun(client, owner, lease, pace, due);
            return run;
        }
        finally
        {
            if (run is null)
                await StageRunner.IgnoreUnavailableAsync(() => EndAsync(client.Number, owner, pace));
        }
    }

    public async Task RunAsync(CallbackRun work, CancellationToken cancellationToken)
    {
        var (client, pace) = (work.Client, work.Pace);
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Client, client.Number);
        var ended = false;
        try
        {
            for (var due = work.Due; due.Count > 0 && !pace.IsStopped && work.Lease.CoversCall;
                due = await callbacks.ListDueDeliveriesAsync(client.Number, MaxDeliveries, cancellationToken))
            {
                await CallAsync(work, due, cancellationToken);
            }
            ended = true;
        }
        finally
        {
            if (!ended && !cancellationToken.IsCancellationRequested)
                pace.Fail(); // so that an error that recurs each time doesn't loop without a pause
            Report(client.Number, pace);
            if (pace.IsGone)
                await PauseClientAsync(client.Number);
            if (ended)
                await EndAsync(client.Number, work.Owner, pace);
            else
                await StageRunner.IgnoreUnavailableAsync(() => EndAsync(client.Number, work.Owner, pace));
        }
    }

    // The client's pause is recorded; Sweep sends its message again.
    public Task<bool> FailAsync(CallbackRun work, Exception error)
    {
        LogFailed(work.Client.Number, error is HibpException ? error.Message : UnexpectedError.Describe(error));
        return Task.FromResult(false);
    }

    private async Task CallAsync(CallbackRun work, IReadOnlyList<CallbackDelivery> due, CancellationToken cancellationToken)
    {
        var chosen = new List<CallbackDelivery>();
        for (var (i, calls) = (0, 0); i < due.Count && calls < MaxCalls; calls += due[i++].Calls)
            chosen.Add(due[i]);
        var (opened, settled) = await lists.OpenAsync(work.Client, chosen, cancellationToken);
        if (settled.Count > 0)
            await RecordAsync(work, settled, null, cancellationToken);
        if (opened.Count == 0)
            return;
        if (lists.SecretOf(work.Client) is not { } secret)
        {
            LogNoSecret(work.Client.Number);
            work.Pace.Fail();
            const string Reason = "the client's secret is encrypted under a HIBP_SECRET_KEY that this host doesn't have";
            await RecordAsync(work, [.. opened.Select(one => lists.Failed(one.Delivery, Reason))], null, cancellationToken);
            return;
        }
        var target = new CallTarget(new Uri(work.Client.Url), secret);
        var pool = new CallPool(opened);
        try
        {
            await CallAsync(work, pool, target, cancellationToken);
        }
        finally
        {
            // Accepted calls are recorded even if the host is stopping.
            if (!work.Lease.IsLost)
                await RecordAsync(work, pool.Results(lists.PauseOf), pool, CancellationToken.None);
        }
    }

    private async Task CallAsync(CallbackRun work, CallPool pool, CallTarget target, CancellationToken cancellationToken)
    {
        using var abort = new CancellationTokenSource();
        using var stopping = cancellationToken.Register(() => abort.CancelAfter(Grace));
        using var ended = new CancellationTokenSource();
        var recording = RecordWhileAsync(work, pool, ended.Token);
        try
        {
            await Task.WhenAll(Enumerable.Range(0, work.Client.Cap).Select(
                _ => Task.Run(() => CallOneByOneAsync(work, pool, target, abort.Token, cancellationToken), CancellationToken.None)));
        }
        finally
        {
            await ended.CancelAsync();
            await recording;
        }
        cancellationToken.ThrowIfCancellationRequested();
    }

    private async Task CallOneByOneAsync(
        CallbackRun work, CallPool pool, CallTarget target, CancellationToken abort, CancellationToken cancellationToken)
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
            var response = await sender.CallAsync(target, body, key, abort);
            work.Pace.After(response, began);
            pool.Settle(call, response);
        }
    }

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
                catch (UnavailableException)
                {
                    // The database may return before the lease ends. Calls continue; their outcomes are recorded at the end.
                }
            }
        }
        catch (OperationCanceledException) when (ended.IsCancellationRequested)
        {
            // The calls have ended.
        }
        catch
        {
            // A defect: no further call is started; the final record hits the same error and throws it.
            work.Pace.Stop();
        }
    }

    private async Task RecordAsync(
        CallbackRun work, IReadOnlyList<CallbackResult> results, CallPool? pool, CancellationToken cancellationToken)
    {
        var began = time.GetTimestamp();
        var stopped = await callbacks.RecordDeliveriesAsync(
            work.Client.Number, work.Owner, CallLease.Duration, results, pool?.Keys ?? [], lists.GiveUpAfter, cancellationToken);
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
            await lists.DeleteAsync(result.Key, cancellationToken);
    }

    private async Task EndAsync(int client, string owner, CallPace pace)
    {
        // A message can't be hidden longer than MaxHidden; Sweep sends for deliveries due later.
        var next = await callbacks.EndTurnAsync(
            client, owner, pace.End(), lists.GiveUpAfter, PipelineMessages.MaxHidden, CancellationToken.None);
        if (next is { } due)
            await schedule.CallAsync(client, due, CancellationToken.None);
    }

    private void Report(int client, CallPace pace)
    {
        foreach (var outcome in Enum.GetValues<CallOutcome>())
            HibpTelemetry.Called(client, outcome.ToString().ToLowerInvariant(), pace.Count(outcome));
        var accepted = pace.Count(CallOutcome.Accepted);
        var others = Enum.GetValues<CallOutcome>().Sum(pace.Count) - accepted;
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Sent, accepted).SetTag(TelemetryNames.Tags.Refused, others);
        LogCalled(client, accepted, others);
    }

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

    private async Task DropAsync(int client, CancellationToken cancellationToken)
    {
        var (dropped, _) = await callbacks.DropDeliveriesAsync(client, null, withOpen: true, "its client was removed", cancellationToken);
        foreach (var delivery in dropped)
            await lists.DeleteAsync(delivery, cancellationToken);
    }

    // Only a client's number is logged, never its name, address or prefixes.
    [LoggerMessage(
        EventIds.DeliverCallbacksCalled, LogLevel.Information, "client {Client}: called ({Accepted} calls accepted, {Others} not)")]
    private partial void LogCalled(int client, long accepted, long others);

    [LoggerMessage(
        EventIds.DeliverCallbacksGone, LogLevel.Warning,
        "client {Client}: paused because it responded 410; to resume, run: hibp clients resume NAME ('hibp clients list' shows its name)")]
    private partial void LogGone(int client);

    [LoggerMessage(EventIds.DeliverCallbacksLost, LogLevel.Information, "client {Client}: lease lost to another worker")]
    private partial void LogLost(int client);

    [LoggerMessage(EventIds.DeliverCallbacksFailed, LogLevel.Error, "client {Client}: calls failed, retrying later: {Reason}")]
    private partial void LogFailed(int client, string reason);

    [LoggerMessage(
        EventIds.DeliverCallbacksNoSecret, LogLevel.Error,
        "client {Client}: not called, its secret is encrypted under a HIBP_SECRET_KEY that this host doesn't have")]
    private partial void LogNoSecret(int client);
}
