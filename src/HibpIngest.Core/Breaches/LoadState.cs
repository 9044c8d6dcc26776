namespace HibpIngest.Breaches;

/// <summary>States of a load; stored by name in lower case, and shown so.</summary>
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
