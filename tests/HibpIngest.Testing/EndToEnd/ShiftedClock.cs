namespace HibpIngest.Testing;

/// <summary>The system's clock, moved on as far as a test says: leases run out and messages grow old without waiting.</summary>
internal sealed class ShiftedClock : TimeProvider
{
    private TimeSpan _shift;

    public override DateTimeOffset GetUtcNow() => System.GetUtcNow() + _shift;

    public void Advance(TimeSpan by) => _shift += by;
}
