namespace HibpIngest.Stores;

/// <summary>How accounts lie in the tables: written once, but for <see cref="Ranges"/>.</summary>
public sealed record StoreLayout
{
    /// <summary>1 and up.</summary>
    public required int Id { get; init; }

    /// <summary>Whether hashes can be asked for by range.</summary>
    public required RangesState Ranges { get; init; }
}

/// <summary>Whether the table of hashes holds every account. The numbers are stored: a contract.</summary>
public enum RangesState
{
    /// <summary>It is not written.</summary>
    Off = 0,

    /// <summary>New accounts are written to it; those from before are being added.</summary>
    Filling = 1,

    /// <summary>It holds all: ranges are answered.</summary>
    On = 2,
}
