using HibpIngest.Breaches;

namespace HibpIngest.Cli.Output;

/// <summary>Remembers, from look to look, when a load last got on.</summary>
internal sealed class LoadMotion(TimeProvider time)
{
    // Longer than a batch or a slice takes on a machine that is busy.
    private static readonly TimeSpan StandsAfter = TimeSpan.FromSeconds(15);

    private readonly Dictionary<long, (object Seen, long At)> _seen = [];

    /// <summary>What changes where a load gets on.</summary>
    public static object Of(Load load) => (
        load.State, load.LastPosition, load.Checkpoint.BlobBytesRead, load.Slices, load.MatchedPosition, load.Notifications, load.Calls);

    /// <summary>Takes a look at a load. False: it has been seen for a while, and nothing of it changed.</summary>
    public bool Moves(Load load)
    {
        var now = Of(load);
        if (!_seen.TryGetValue(load.Id, out var before) || !before.Seen.Equals(now))
        {
            _seen[load.Id] = (now, time.GetTimestamp());
            return true;
        }
        return time.GetElapsedTime(before.At) < StandsAfter;
    }
}
