using System.Collections.Concurrent;

namespace HibpIngest.Cli.Output;

internal sealed class LoadFollower(IBreachDatabase database, Screen screen, TimeProvider time, double mailsPerSecond)
{
    // A person can't read faster, and one small query each time is negligible next to the load.
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(250);

    // Written by the polling loop, read by the rendering.
    private readonly ConcurrentDictionary<int, TimeSpan?> _left = [];

    /// <summary>Printed once if there is no progress for this time. If null, never.</summary>
    public (TimeSpan After, string Line)? Stalled { get; init; }

    /// <summary>Printed once if no host has picked up the file after this time. If null, never.</summary>
    public (TimeSpan After, Func<Task<string>> Line)? NotTaken { get; init; }

    public async Task<Load> FollowAsync(BlobVersion blob, CancellationToken cancellationToken)
    {
        if (!screen.IsLive)
            return await LinesAsync(blob, cancellationToken);
        return await ProgressBars.Create(screen.Messages, new TimesColumn(task => _left.GetValueOrDefault(task.Id)))
            .StartAsync(context => BarsAsync(context, blob, cancellationToken));
    }

    private async Task<Load> BarsAsync(ProgressContext context, BlobVersion blob, CancellationToken cancellationToken)
    {
        var ingest = context.AddTask("waiting for the load to start", maxValue: 1);
        var upsert = context.AddTask("into the table", autoStart: false, maxValue: 1);
        var notify = context.AddTask("mails", autoStart: false, maxValue: 1);
        return await WatchAsync(blob, (load, figures) =>
        {
            // Only one time left is shown: at the mails' bar once all accounts are in the table, before that at the accounts' bar.
            _left[upsert.Id] = load.UpsertedAt is null ? figures.Left : null;
            _left[notify.Id] = load.UpsertedAt is null ? null : figures.Left;
            string Described(int number, string what, long done, string unit) => screen.Messages.Profile.Width < 100
                ? $"[bold]{number}[/] {TableFormat.Number(done)} {unit}"
                : $"[bold]{number}[/] {what,-16} {TableFormat.Number(done),13} {unit}";
            ingest.Description = Described(1, "read and copied", load.LastPosition, "rows");
            ingest.Value = figures.Ingested;
            if (load.Slices.Total > 0)
                Start(upsert);
            upsert.Description = Described(2, "into the table", load.Entities, "accounts");
            upsert.Value = figures.Searchable;
            if (load.State is LoadState.Matching or LoadState.Held or LoadState.Notifying or LoadState.Done)
                Start(notify);
            notify.Description = Described(3, "notified", load.Notifications.Sent, "mails");
            notify.Value = load.State == LoadState.Done ? 1 : load.Notifications.Total > 0
                ? (double)(load.Notifications.Total - load.Notifications.Open) / load.Notifications.Total : 0;
            if (load.IngestComplete)
                Stop(ingest);
            if (load.UpsertedAt is not null)
                Stop(upsert);
        }, cancellationToken);

        // A task's clock can be started and stopped only once.
        static void Start(ProgressTask task)
        {
            if (task.StartTime is null)
                task.StartTask();
        }

        static void Stop(ProgressTask task)
        {
            if (task.StartTime is not null && task.StopTime is null)
                task.StopTask();
        }
    }

    private async Task<Load> LinesAsync(BlobVersion blob, CancellationToken cancellationToken)
    {
        LoadState? state = null;
        var lineAt = time.GetTimestamp();
        return await WatchAsync(blob, (load, figures) =>
        {
            if (load.State == state && time.GetElapsedTime(lineAt) < LineLimit.Interval)
                return;
            state = load.State;
            lineAt = time.GetTimestamp();
            screen.Say($"{LoadFigures.Line(load)}, {figures.Times}");
        }, cancellationToken);
    }

    private async Task<Load> WatchAsync(BlobVersion blob, Action<Load, LoadFigures> show, CancellationToken cancellationToken)
    {
        LoadId? id = null;
        object? seen = null;
        var movedAt = time.GetTimestamp();
        var (isStallReported, isNotTakenReported) = (false, false);
        while (true)
        {
            var load = id is null
                ? (await database.ListLoadsAsync(breach: null, cancellationToken)).LastOrDefault(load => load.Blob == blob)
                : await database.GetLoadAsync(id.Value, cancellationToken);
            id = load?.Id;
            var now = load is null ? null : LoadMotion.Of(load);
            if (now is not null && !now.Equals(seen))
            {
                seen = now;
                movedAt = time.GetTimestamp();
                isStallReported = false;
            }
            if (load is not null)
            {
                var work = await database.ListWorkAsync([load.Id], cancellationToken);
                show(load, LoadFigures.Of(load, work[0], time.GetUtcNow(), mailsPerSecond));
                if (load.State is LoadState.Done or LoadState.Held or LoadState.Failed)
                    return load;
            }
            if (Stalled is { } stalled && !isStallReported && time.GetElapsedTime(movedAt) > stalled.After)
            {
                screen.Say(stalled.Line);
                isStallReported = true;
            }
            if (id is null && NotTaken is { } notTaken && !isNotTakenReported && time.GetElapsedTime(movedAt) > notTaken.After)
            {
                screen.Say(await notTaken.Line());
                isNotTakenReported = true;
            }
            await Task.Delay(PollInterval, time, cancellationToken);
        }
    }
}

internal sealed class LoadMotion(TimeProvider time)
{
    // Longer than a batch or a slice takes on a busy machine.
    private static readonly TimeSpan StalledAfter = TimeSpan.FromSeconds(15);

    private readonly Dictionary<LoadId, (object Seen, long At)> _seen = [];

    /// <summary>Returns the values that change when a load makes progress.</summary>
    public static object Of(Load load) => (
        load.State, load.LastPosition, load.Checkpoint.BlobBytesRead, load.Slices, load.MatchedPosition, load.Notifications, load.Calls);

    /// <returns>False if the load has made no progress for 15 s.</returns>
    public bool Moves(Load load)
    {
        var now = Of(load);
        if (!_seen.TryGetValue(load.Id, out var before) || !before.Seen.Equals(now))
        {
            _seen[load.Id] = (now, time.GetTimestamp());
            return true;
        }
        return time.GetElapsedTime(before.At) < StalledAfter;
    }
}

/// <summary>Prints a line every 15 s for each load that made progress, until disposal. No open load: no database query.</summary>
internal sealed class LoadLines : IAsyncDisposable
{
    private static readonly TimeSpan LineEvery = TimeSpan.FromSeconds(15);

    private readonly CancellationTokenSource _stop = new();
    private readonly Task _printing;

    public LoadLines(IWorkRegister register, ILoads loads, Screen screen, TimeProvider time, double mailsPerSecond) =>
        _printing = PrintAsync(register, loads, screen, time, mailsPerSecond);

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _printing;
        _stop.Dispose();
    }

    private async Task PrintAsync(IWorkRegister register, ILoads loads, Screen screen, TimeProvider time, double mailsPerSecond)
    {
        var printed = new Dictionary<LoadId, object>();
        try
        {
            while (true)
            {
                await Task.Delay(LineEvery, time, _stop.Token);
                try
                {
                    foreach (var (id, _) in await register.ListOpenAsync(_stop.Token))
                    {
                        if (await loads.GetLoadAsync(id, _stop.Token) is { } load && IsAtWork(load)
                            && !LoadMotion.Of(load).Equals(printed.GetValueOrDefault(id)))
                        {
                            printed[id] = LoadMotion.Of(load);
                            var work = await loads.ListWorkAsync([id], _stop.Token);
                            var figures = LoadFigures.Of(load, work[0], time.GetUtcNow(), mailsPerSecond);
                            screen.Say($"{LoadFigures.Line(load)}, {figures.Times}");
                        }
                    }
                }
                catch (HibpException)
                {
                    // The host reports which store is down.
                }
            }
        }
        catch (OperationCanceledException) when (_stop.IsCancellationRequested)
        {
        }
    }

    private static bool IsAtWork(Load load) =>
        load.AwaitsCalls || load.State is not (LoadState.Done or LoadState.Failed or LoadState.Held);
}
