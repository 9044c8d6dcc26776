namespace HibpIngest.Stores;

/// <summary>Whether a new store writes ranges.</summary>
public enum RangesMode
{
    /// <summary>Ranges are not written.</summary>
    Off,

    /// <summary>Ranges are written, from the first account on.</summary>
    On,
}
