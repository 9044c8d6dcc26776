namespace HibpIngest.Cli.Output;

/// <summary>Progress, rates and time left of a load at one moment. Times and rates count working time only.</summary>
internal sealed record LoadFigures
{
    // A batch takes seconds; in a longer pause between two batches, no host is considered to have been ingesting.
    private static readonly TimeSpan MaxBatch = TimeSpan.FromMinutes(2);

    // An unfinished slice counts as at most this part.
    private const double MaxOpenPart = 0.95;

    // With more rounds of slices left than this, the window's rate is the better estimate.
    private const int MaxRounds = 4;

    /// <summary>Fraction of the archive that has been read and committed, 0 to 1.</summary>
    public double Ingested { get; private init; }

    /// <summary>Fraction of the whole load whose accounts are in the table, 0 to 1.</summary>
    public double Searchable { get; private init; }

    public double RowsPerSecond { get; private init; }

    /// <summary>Accounts upserted per second in which slices were worked on.</summary>
    public double AccountsPerSecond { get; private init; }

    public TimeSpan Elapsed { get; private init; }

    /// <summary>Estimated at the rate of the latest slices. Null if there is no estimate, as when no host works on the load.</summary>
    public TimeSpan? Left { get; private init; }

    /// <param name="inProgress">True if a host works on it; if null, derived from its leases.</param>
    public static LoadFigures Of(Load load, LoadWork? work, DateTimeOffset now, double mailsPerSecond, bool? inProgress = null)
    {
        var slices = work?.Slices ?? [];
        var holds = inProgress ?? (load.LeaseExpiresAt is not null || slices.Any(slice => slice is { BegunAt: not null, DoneAt: null })
            || load.State == LoadState.Notifying);
        var ingesting = IngestTime(load, slices, now, holds);
        var upserting = UpsertTime(load, slices, now);
        var working = ingesting.With(upserting);
        return new LoadFigures
        {
            Ingested = load.IngestedFraction,
            Searchable = load.SearchableFraction,
            RowsPerSecond = load.LastPosition / ingesting.Total.TotalSeconds,
            AccountsPerSecond = load.Entities / upserting.Total.TotalSeconds,
            Elapsed = working.With(NotifyTime(load, work, now, holds)).Total,
            Left = !holds ? null : load.State switch
            {
                LoadState.Ingesting or LoadState.Upserting => LeftOfSlices(load, slices, working, now),
                LoadState.Notifying => TimeSpan.FromSeconds(load.Notifications.Open / mailsPerSecond),
                _ => null,
            },
        };
    }

    public string Times => $"elapsed {TableFormat.Duration(Elapsed)}"
        + (Left is { TotalSeconds: >= 0.5 } left ? $", about {TableFormat.Duration(left)} left" : "");

    public static string Line(Load load) =>
        $"load {load.Id} of {load.Breach}: {State(load)}, {TableFormat.Number(load.Accounts)} accounts, "
        + $"{Percent(load.SearchableFraction)} searchable, slices {TableFormat.Number(load.Slices.Done)}/{Total(load, "~")}, "
        + $"mails {TableFormat.Number(load.Notifications.Sent)}/{TableFormat.Number(load.Notifications.Total)}";

    /// <summary>Returns its state, or "removing". A published load whose slices are being rewritten is never shown as failed.</summary>
    public static string State(Load load) => load switch
    {
        { Removing: true } => "removing",
        { PublishedAt: not null, State: LoadState.Ingesting or LoadState.Upserting } => "rewriting",
        { PublishedAt: not null, State: LoadState.Failed, Slices.Failed: > 0 } => "published",
        _ => load.State.ToString().ToLowerInvariant(),
    };

    /// <summary>Rounded down, so that 100% means complete.</summary>
    public static string Percent(double part) => $"{Math.Floor((part * 100) + 1e-9):0}%";

    public static string Total(Load load, string about) => load.IngestComplete || load.IngestedFraction <= 0
        ? TableFormat.Number(load.Slices.Total) : about + TableFormat.Number((long)Math.Round(load.Slices.Total / load.IngestedFraction));

    public static TimeSpan Between(DateTimeOffset from, DateTimeOffset to) => to > from ? to - from : TimeSpan.Zero;

    private static WorkingTime IngestTime(Load load, IReadOnlyList<SliceTimes> slices, DateTimeOffset now, bool holds)
    {
        // These times are from the database's clock; this machine's may be slightly behind.
        var end = load.IngestedAt ?? load.FinishedAt ?? now;
        var committed = slices.Select(slice => slice.CommittedAt).Where(at => at > load.StartedAt && at <= end).Order().ToList();
        // Requeued slices have lost their commit times.
        if (committed.Count * 2 < slices.Count)
            return new WorkingTime([(load.StartedAt, end)]);
        // After the last batch a host still worked until completion was recorded, or is still working.
        if (load.IngestedAt is not null || load.FinishedAt is not null || (load.State == LoadState.Ingesting && holds))
            committed.Add(end);
        return new WorkingTime(committed.Select((at, i) =>
        {
            var before = i == 0 ? load.StartedAt : committed[i - 1];
            return (at - before > MaxBatch ? at - MaxBatch : before, at);
        }));
    }

    private static WorkingTime UpsertTime(Load load, IReadOnlyList<SliceTimes> slices, DateTimeOffset now)
    {
        var times = new WorkingTime(slices.Where(slice => slice.BegunAt is not null)
            .Select(slice => (slice.BegunAt!.Value, slice.DoneAt ?? now)));
        // Slices of an older version that didn't record their start.
        return times.Total > TimeSpan.Zero || load.Slices.Done == 0 ? times
            : new WorkingTime([(load.StartedAt, load.UpsertedAt ?? load.FinishedAt ?? now)]);
    }

    /// <summary>Returns the time in which subscribers were matched and notified, without the wait for an operator in between.</summary>
    private static WorkingTime NotifyTime(Load load, LoadWork? work, DateTimeOffset now, bool holds)
    {
        if (load.UpsertedAt is not { } upserted || load.State == LoadState.Held)
            return new WorkingTime([]);
        var start = work?.FirstMailAt - MaxBatch is { } mails && mails > upserted ? mails : upserted;
        return new WorkingTime([(start, load.FinishedAt ?? (holds ? now : work?.LastMailAt ?? start))]);
    }

    // Time in which slices wait for the archive to be read counts as working time.
    private static TimeSpan? LeftOfSlices(Load load, IReadOnlyList<SliceTimes> slices, WorkingTime working, DateTimeOffset now)
    {
        var done = slices.Where(slice => slice.DoneAt is not null).OrderByDescending(slice => slice.DoneAt).ToList();
        if (load.IngestedFraction <= 0 || !TimeLeft.IsEnough(done.Count, working.Total))
            return null;
        var known = done.Where(slice => slice.DoneAt > slice.BegunAt).Take(64).ToList();
        var usual = known.Count == 0 ? 0 : known.Average(slice => (slice.DoneAt!.Value - slice.BegunAt!.Value).TotalSeconds);
        // A host records a slice's progress only now and then; in between, it is estimated from the average duration.
        var running = slices.Where(slice => slice is { BegunAt: not null, DoneAt: null }).ToList();
        var open = running.Sum(slice => Math.Min(
            MaxOpenPart, Math.Max(slice.Part, usual > 0 ? Between(slice.BegunAt!.Value, now).TotalSeconds / usual : 0)));
        // The window begins at the completion of a slice; what was done before it of later slices is excluded.
        var (from, after) = (DateTimeOffset.MinValue, 0);
        while (after < done.Count && !TimeLeft.IsWindow(after, working.Since(done[after].DoneAt!.Value)))
            after++;
        if (after < done.Count)
            from = done[after].DoneAt!.Value;
        var within = open + done.Take(after).Sum(slice => PartAfter(slice, from));
        var total = load.Slices.Total / load.IngestedFraction;
        var left = TimeLeft.At(total - load.Slices.Done - open, within, working.Since(from));
        var queued = load.Slices.Total - load.Slices.Done - running.Count;
        if (!load.IngestComplete || known.Count == 0 || running.Count == 0 || queued > MaxRounds * running.Count)
            return left;
        var lasts = LastRounds(
            [.. known.Select(slice => (slice.DoneAt!.Value - slice.BegunAt!.Value).TotalSeconds).Order()],
            [.. running.Select(slice => Between(slice.BegunAt!.Value, now).TotalSeconds).Order()], queued);
        return left > lasts ? left : lasts;
    }

    // The minimum at the current concurrency: at the end fewer slices run concurrently than in the window, whose rate is then too high.
    private static TimeSpan LastRounds(double[] durations, double[] ages, int queued)
    {
        var usual = durations.Average();
        var ends = new PriorityQueue<double, double>();
        foreach (var age in ages)
        {
            var end = Math.Max(durations.Where(duration => duration > age).DefaultIfEmpty(age).Average() - age, 0);
            ends.Enqueue(end, end);
        }
        for (var i = 0; i < queued; i++)
        {
            var end = ends.Dequeue() + usual;
            ends.Enqueue(end, end);
        }
        var last = ends.UnorderedItems.Max(one => one.Element);
        // The longest of the i youngest slices takes more than the average.
        for (var i = 1; queued <= 0 && i <= ages.Length; i++)
            last = Math.Max(last, durations[durations.Length * i / (i + 1)] - ages[i - 1]);
        return TimeSpan.FromSeconds(last);
    }

    private static double PartAfter(SliceTimes slice, DateTimeOffset moment) =>
        slice.BegunAt is not { } start || start >= moment || slice.DoneAt <= start ? 1
        : Between(moment, slice.DoneAt!.Value) / (slice.DoneAt.Value - start);
}

/// <summary>Spans of working time; overlapping ones count once.</summary>
internal sealed class WorkingTime
{
    private readonly List<(DateTimeOffset From, DateTimeOffset To)> _spans = [];

    public WorkingTime(IEnumerable<(DateTimeOffset From, DateTimeOffset To)> spans)
    {
        foreach (var (from, to) in spans.Where(span => span.To > span.From).OrderBy(span => span.From))
        {
            if (_spans.Count == 0 || from > _spans[^1].To)
                _spans.Add((from, to));
            else if (to > _spans[^1].To)
                _spans[^1] = (_spans[^1].From, to);
        }
    }

    public TimeSpan Total => Since(DateTimeOffset.MinValue);

    public TimeSpan Since(DateTimeOffset moment)
    {
        var sum = TimeSpan.Zero;
        for (var i = _spans.Count - 1; i >= 0 && _spans[i].To > moment; i--)
            sum += _spans[i].To - (_spans[i].From > moment ? _spans[i].From : moment);
        return sum;
    }

    public WorkingTime With(WorkingTime other) => new(_spans.Concat(other._spans));
}
