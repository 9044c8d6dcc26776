using HibpIngest.Breaches;
using HibpIngest.Stores;

namespace HibpIngest.Cli.Output;

/// <summary>How far a load is, how fast, and for how long yet, at a moment.</summary>
internal sealed record LoadFigures
{
    private LoadFigures()
    {
    }

    /// <summary>Part of the archive that has been read and committed, 0 to 1.</summary>
    public double Ingested { get; private init; }

    /// <summary>Part of the whole load whose accounts are in the table, 0 to 1.</summary>
    public double Searchable { get; private init; }

    /// <summary>Rows committed to SQL per second of ingest.</summary>
    public double RowsPerSecond { get; private init; }

    /// <summary>Accounts upserted per second, from the start to the last slice.</summary>
    public double AccountsPerSecond { get; private init; }

    /// <summary>Since the start; of a finished load, what it took.</summary>
    public TimeSpan Elapsed { get; private init; }

    /// <summary>At the rate so far; null where nothing can be said, as where nothing moves.</summary>
    public TimeSpan? Left { get; private init; }

    /// <param name="load">The load.</param>
    /// <param name="now">The moment.</param>
    /// <param name="mailsPerSecond">What mails are sent at.</param>
    /// <param name="moves">Whether it gets on, as far as is known.</param>
    /// <param name="begun">Of the slices that are being upserted, the part that is: half of each of two makes one.</param>
    public static LoadFigures Of(Load load, DateTimeOffset now, double mailsPerSecond, bool moves = true, double begun = 0)
    {
        // The database's clock wrote these times; this machine's may be a little behind.
        var elapsed = Between(load.StartedAt, load.FinishedAt ?? now);
        var searchable = load.Slices.Total > 0
            ? load.IngestedPart * Math.Min(load.Slices.Done + begun, load.Slices.Total) / load.Slices.Total : 0;
        var left = load.State switch
        {
            _ when !moves => null,
            LoadState.Ingesting or LoadState.Upserting when searchable > 0 => LeftAfter(elapsed, searchable),
            LoadState.Notifying => TimeSpan.FromSeconds(load.Notifications.Open / mailsPerSecond),
            _ => null,
        };
        return new LoadFigures
        {
            Ingested = load.IngestedPart,
            Searchable = searchable,
            RowsPerSecond = load.LastPosition / Between(load.StartedAt, load.IngestedAt ?? load.FinishedAt ?? now).TotalSeconds,
            AccountsPerSecond = load.Entities / Between(load.StartedAt, load.UpsertedAt ?? load.FinishedAt ?? now).TotalSeconds,
            Elapsed = elapsed,
            Left = left,
        };
    }

    /// <summary>How long it has taken, and what is left of it.</summary>
    public string Times => $"for {TableFormat.Duration(Elapsed)}"
        + (Left is { TotalSeconds: >= 0.5 } left ? $", about {TableFormat.Duration(left)} left" : "");

    /// <summary>What slices that are being upserted come to, as far as their hosts have told.</summary>
    public static double Begun(Load load, IEnumerable<HeldWork> held) => held.Where(work => work.Load == load.Id).Sum(work => work.Part);

    /// <summary>What a load is doing, in one line.</summary>
    public static string Line(Load load) =>
        $"load {load.Id} of {load.Breach}: {load.State.ToString().ToLowerInvariant()}, {TableFormat.Number(load.Accounts)} accounts, "
        + $"{TableFormat.Number(load.Slices.Done)} of {TableFormat.Number(load.Slices.Total)} slices, "
        + $"{TableFormat.Number(load.Notifications.Sent)} of {TableFormat.Number(load.Notifications.Total)} mails";

    /// <summary>Null: so long that the figure says nothing, as where a load stood still for hours at its first batch.</summary>
    private static TimeSpan? LeftAfter(TimeSpan elapsed, double done) =>
        elapsed.TotalDays * ((1 - done) / done) is < 1000 and var days ? TimeSpan.FromDays(days) : null;

    public static TimeSpan Between(DateTimeOffset from, DateTimeOffset to) => to > from ? to - from : TimeSpan.Zero;
}
