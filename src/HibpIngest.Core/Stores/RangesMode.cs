namespace HibpIngest.Stores;

/// <summary>What a new store is asked for.</summary>
public enum RangesMode
{
    /// <summary>Ranges are not written.</summary>
    Off,

    /// <summary>They are, from the first account on.</summary>
    On,
}
