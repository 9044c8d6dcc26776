using System.Globalization;

namespace HibpIngest.Cli.Output;

/// <summary>
/// Keeps lines from being said again and again: the first of those that mean the same is, and after a while how many there were.
/// Safe for use by many at once.
/// </summary>
internal sealed class RepeatedLines(Action<string> say, TimeProvider time) : IDisposable
{
    /// <summary>So long lines are counted rather than said.</summary>
    public static readonly TimeSpan Window = TimeSpan.FromSeconds(30);

    private readonly Lock _lock = new();
    private readonly Dictionary<object, Repeated> _said = [];
    private bool _isDisposed;

    /// <summary>Whether a line is to be said now; false: one that means the same was, and it is counted.</summary>
    /// <param name="meaning">Equal for lines that mean the same.</param>
    /// <param name="line">Said with the count, should more follow.</param>
    public bool IsNew(object meaning, string line)
    {
        lock (_lock)
        {
            if (_said.TryGetValue(meaning, out var repeated))
            {
                repeated.Count++;
                return false;
            }
            if (!_isDisposed)
                _said[meaning] = new Repeated(line, time.CreateTimer(_ => End(meaning), null, Window, Timeout.InfiniteTimeSpan));
            return true;
        }
    }

    public void Dispose()
    {
        List<object> left;
        lock (_lock)
        {
            _isDisposed = true;
            left = [.. _said.Keys];
        }
        left.ForEach(End);
    }

    private void End(object meaning)
    {
        Repeated? repeated;
        lock (_lock)
        {
            if (!_said.Remove(meaning, out repeated))
                return;
        }
        repeated.Timer.Dispose();
        if (repeated.Count > 0)
            say(string.Create(CultureInfo.InvariantCulture, $"{repeated.Count} more like this: {repeated.Line}"));
    }

    private sealed class Repeated(string line, ITimer timer)
    {
        public string Line => line;

        public ITimer Timer => timer;

        public int Count { get; set; }
    }
}
