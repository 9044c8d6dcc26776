using HibpIngest.Pipeline.Messaging;

namespace HibpIngest.Hosting;

/// <summary>The work that waits for an unavailable store, as this process has last seen it. Safe for concurrent use.</summary>
public sealed class BlockedWork(TimeProvider time)
{
    private const int MaxReported = 8;

    // A longer reason is an error page of the store.
    private const int MaxReason = 500;

    // Work that is retried at the due time takes a while to fail again or to complete.
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(45);

    private readonly Lock _lock = new();
    private readonly Dictionary<(LoadId Load, string What), BlockedTask> _tasks = [];

    public void Note(DeferredMessage message) => Note(message.Load, message.Queue, message.Error.Message, message.Delay);

    /// <summary>Records that work on a load waits, replacing an earlier reason.</summary>
    public void Note(LoadId load, string what, string reason, TimeSpan delay)
    {
        var task = new BlockedTask(
            load.Value, what, reason.Length > MaxReason ? reason[..MaxReason] : reason, time.GetUtcNow() + delay);
        lock (_lock)
            _tasks[(load, what)] = task;
    }

    /// <summary>Returns the first 8 tasks that still wait as far as known, by their next try.</summary>
    public IReadOnlyList<BlockedTask> List()
    {
        var now = time.GetUtcNow();
        lock (_lock)
        {
            foreach (var (key, _) in _tasks.Where(task => task.Value.NextTry + Grace < now).ToList())
                _tasks.Remove(key);
            return [.. _tasks.Values.OrderBy(task => task.NextTry).Take(MaxReported)];
        }
    }
}
