using System.Globalization;

namespace HibpIngest.Cli.Output;

/// <summary>
/// Suppresses repeated lines: of lines with the same meaning the first is printed, and after a while their count. Safe for concurrent use.
/// </summary>
internal sealed class RepeatedLines(Action<string> say, TimeProvider time) : IDisposable
{
    /// <summary>Time in which repeated lines are counted instead of printed.</summary>
    public static readonly TimeSpan Window = TimeSpan.FromSeconds(30);

    private readonly Lock _lock = new();
    private readonly Dictionary<object, Repeated> _said = [];
    private bool _isDisposed;

    /// <summary>Returns whether to print a line now; false: it is a repetition, and is counted.</summary>
    /// <param name="meaning">Equal for lines with the same meaning.</param>
    /// <param name="line">Printed with the count if repetitions follow.</param>
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
