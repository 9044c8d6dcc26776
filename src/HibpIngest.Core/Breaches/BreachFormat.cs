namespace HibpIngest.Breaches;

/// <summary>How a dropped file is read, which its name says: <see cref="BreachFiles"/>.</summary>
public enum BreachFormat
{
    /// <summary>Entries in the order of its directory, each read without those before it.</summary>
    Zip,

    /// <summary>One text, or archive, read forward.</summary>
    Gzip,

    /// <summary>Entries one behind the other, each found without reading those before it.</summary>
    Tar,

    /// <summary>A tar read forward: going on within it inflates what comes before.</summary>
    TarGzip,

    /// <summary>Text as it lies, in parts that are read without those before them.</summary>
    Text,
}
