namespace HibpIngest.Breaches;

/// <summary>Format of a dropped file, decided by its name: <see cref="BreachFiles"/>.</summary>
public enum BreachFormat
{
    /// <summary>Entries in directory order, each readable without the entries before it.</summary>
    Zip,

    /// <summary>One text or archive, read forward.</summary>
    Gzip,

    /// <summary>Consecutive entries, each found without reading the entries before it.</summary>
    Tar,

    /// <summary>A tar read forward: resuming within it inflates everything before.</summary>
    TarGzip,

    /// <summary>Uncompressed text, split into parts that are readable independently.</summary>
    Text,
}
