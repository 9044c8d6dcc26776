using HibpIngest.Pipeline.Messaging;

namespace HibpIngest.Hosting;

/// <summary>The work that waits for an unavailable store, as this process has last seen it. Safe for concurrent use.</summary>
public sealed class BlockedWork(TimeProvider time)
{
    private const int MaxReported = 8;

    /// <summary>A longer reason is an error page of the store.</summary>
    private const int LongestReason = 500;

    // Work that is retried at the due time takes a while to fail again or to complete.
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(45);

    private readonly Lock _lock = new();
    private readonly Dictionary<(long Load, string What), BlockedTask> _troubles = [];

    public void Note(DeferredMessage message) => Note(message.Load, message.Queue, message.Error.Message, message.Delay);

    /// <summary>Records that work on a load waits, replacing an earlier reason.</summary>
    public void Note(long load, string what, string reason, TimeSpan delay)
    {
        var trouble = new BlockedTask(
            load, what, reason.Length > LongestReason ? reason[..LongestReason] : reason, time.GetUtcNow() + delay);
        lock (_lock)
            _troubles[(load, what)] = trouble;
    }

    /// <summary>Returns at most <see cref="MaxReported"/> entries that are still waiting as far as known, earliest next try
    /// first.</summary>
    public IReadOnlyList<BlockedTask> List()
    {
        var now = time.GetUtcNow();
        lock (_lock)
        {
            foreach (var (key, _) in _troubles.Where(one => one.Value.NextTry + Grace < now).ToList())
                _troubles.Remove(key);
            return [.. _troubles.Values.OrderBy(one => one.NextTry).Take(MaxReported)];
        }
    }
}
