namespace HibpIngest.Cli.Output;

/// <summary>Spans of working time; overlapping ones count once.</summary>
internal sealed class WorkingTime
{
    private readonly List<(DateTimeOffset From, DateTimeOffset To)> _spans = [];

    /// <param name="spans">In any order; empty ones are ignored.</param>
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

    /// <summary>Returns the working time after a moment.</summary>
    public TimeSpan Since(DateTimeOffset moment)
    {
        var sum = TimeSpan.Zero;
        for (var i = _spans.Count - 1; i >= 0 && _spans[i].To > moment; i--)
            sum += _spans[i].To - (_spans[i].From > moment ? _spans[i].From : moment);
        return sum;
    }

    /// <summary>Returns the union of two.</summary>
    public WorkingTime With(WorkingTime other) => new(_spans.Concat(other._spans));
}
