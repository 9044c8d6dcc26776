namespace HibpIngest.Testing;

/// <summary>A clock that stands still until it is moved.</summary>
public sealed class StandingClock : TimeProvider
{
    private DateTimeOffset _now = new(2024, 2, 29, 23, 59, 58, 123, TimeSpan.Zero);

    /// <summary>Called each time the clock has been read.</summary>
    public Action? OnRead { get; set; }

    public override DateTimeOffset GetUtcNow()
    {
        var now = _now;
        OnRead?.Invoke();
        return now;
    }

    public void Advance(TimeSpan by) => _now += by;
}
