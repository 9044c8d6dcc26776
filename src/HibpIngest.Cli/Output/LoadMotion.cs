namespace HibpIngest.Cli.Output;

/// <summary>Remembers when each load last made progress.</summary>
internal sealed class LoadMotion(TimeProvider time)
{
    // Longer than a batch or a slice takes on a busy machine.
    private static readonly TimeSpan StandsAfter = TimeSpan.FromSeconds(15);

    private readonly Dictionary<long, (object Seen, long At)> _seen = [];

    /// <summary>Returns the values that change when a load makes progress.</summary>
    public static object Of(Load load) => (
        load.State, load.LastPosition, load.Checkpoint.BlobBytesRead, load.Slices, load.MatchedPosition, load.Notifications, load.Calls);

    /// <summary>Records a load's current values.</summary>
    /// <returns>False: they haven't changed for 15 s.</returns>
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
