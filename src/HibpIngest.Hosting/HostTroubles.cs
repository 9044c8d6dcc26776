using HibpIngest.Pipeline;
using HibpIngest.Stores;

namespace HibpIngest.Hosting;

/// <summary>What waits for something that is down, as this process has last met it. Safe for use by many at once.</summary>
public sealed class HostTroubles(TimeProvider time)
{
    private const int MostTold = 8;

    /// <summary>A reason longer than that is a store's own page.</summary>
    private const int LongestReason = 500;

    // What comes again at its time takes a while to fail again, or to be done.
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(45);

    private readonly Lock _lock = new();
    private readonly Dictionary<(long Load, string What), HostTrouble> _troubles = [];

    /// <summary>Records a deferred message.</summary>
    public void Note(DeferredMessage message) => Note(message.Load, message.Queue, message.Error.Message, message.Delay);

    /// <summary>Records that work on a load waits; the latest reason counts.</summary>
    public void Note(long load, string what, string reason, TimeSpan delay)
    {
        var trouble = new HostTrouble(
            load, what, reason.Length > LongestReason ? reason[..LongestReason] : reason, time.GetUtcNow() + delay);
        lock (_lock)
            _troubles[(load, what)] = trouble;
    }

    /// <summary>Those that are not over, as far as is known; those that wait for the shortest time first.</summary>
    public IReadOnlyList<HostTrouble> List()
    {
        var now = time.GetUtcNow();
        lock (_lock)
        {
            foreach (var (key, _) in _troubles.Where(one => one.Value.NextTry + Grace < now).ToList())
                _troubles.Remove(key);
            return [.. _troubles.Values.OrderBy(one => one.NextTry).Take(MostTold)];
        }
    }
}
