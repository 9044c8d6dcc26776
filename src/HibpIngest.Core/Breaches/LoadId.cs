namespace HibpIngest.Breaches;

/// <summary>Number of a load, drawn from the store register: from 1, ascending, never reused. 0: no load.</summary>
public readonly record struct LoadId(long Value)
{
    public override string ToString() => Value.ToString(CultureInfo.InvariantCulture);
}
