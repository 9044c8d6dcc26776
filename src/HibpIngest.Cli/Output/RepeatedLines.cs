namespace HibpIngest.Cli.Output;

/// <summary>Prints the first of lines with the same meaning, and after a while their count. Safe for concurrent use.</summary>
internal sealed class RepeatedLines(Action<string> say, TimeProvider time) : IDisposable
{
    public static readonly TimeSpan Window = TimeSpan.FromSeconds(30);

    private readonly Lock _lock = new();
    private readonly Dictionary<object, Repeated> _printed = [];
    private bool _isDisposed;

    public bool IsNew(object meaning, string line)
    {
        lock (_lock)
        {
            if (_printed.TryGetValue(meaning, out var repeated))
            {
                repeated.Count++;
                return false;
            }
            if (!_isDisposed)
                _printed[meaning] = new Repeated(line, time.CreateTimer(_ => End(meaning), null, Window, Timeout.InfiniteTimeSpan));
            return true;
        }
    }

    public void Dispose()
    {
        List<object> left;
        lock (_lock)
        {
            _isDisposed = true;
            left = [.. _printed.Keys];
        }
        left.ForEach(End);
    }

    private void End(object meaning)
    {
        Repeated? repeated;
        lock (_lock)
        {
            if (!_printed.Remove(meaning, out repeated))
                return;
        }
        repeated.Timer.Dispose();
        if (repeated.Count > 0)
            say(string.Create(CultureInfo.InvariantCulture, $"{repeated.Count} more like this: {repeated.Line}"));
    }

    private sealed record Repeated(string Line, ITimer Timer)
    {
        public int Count { get; set; }
    }
}
