namespace HibpIngest.Storage.Azure.Tables;

/// <summary>Entities per second over the recent past: the weight decays exponentially, with a time constant of 1 s.</summary>
internal sealed class RecentRate(TimeProvider time)
{
    private double _rate;
    private long _at = time.GetTimestamp();

    public double EntitiesPerSecond
    {
        get
        {
            var now = time.GetTimestamp();
            _rate *= Math.Exp(-time.GetElapsedTime(_at, now).TotalSeconds);
            _at = now;
            return _rate;
        }
    }

    public void Add(int entities) => _rate = EntitiesPerSecond + entities;
}
