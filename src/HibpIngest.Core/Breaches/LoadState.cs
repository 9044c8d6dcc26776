namespace HibpIngest.Breaches;

/// <summary>States of a load; stored and displayed by name in lower case.</summary>
public enum LoadState
{
    Ingesting,
    Upserting,
    Matching,
    Held,
    Notifying,
    Done,
    Failed,
}
