namespace HibpIngest.Journal.Statistics;

/// <summary>Statistics of the loads in the account log that count.</summary>
public sealed record JournalFigures
{
    /// <summary>Rows of all loads; an account in several loads counts several times.</summary>
    public required long Rows { get; init; }

    public required long Accounts { get; init; }

    /// <summary>Accounts in more than one breach.</summary>
    public required long AccountsInSeveral { get; init; }

    public required long Domains { get; init; }

    /// <summary>In descending order of accounts.</summary>
    public required IReadOnlyList<BreachFigures> Breaches { get; init; }

    /// <summary>The largest domains, in descending order of accounts.</summary>
    public required IReadOnlyList<DomainFigures> LargestDomains { get; init; }

    /// <summary>Pairs of breaches that share an account, in descending order of shared accounts.</summary>
    public required IReadOnlyList<OverlapFigures> Overlaps { get; init; }
}

/// <param name="Accounts">Distinct accounts: the number to publish.</param>
public sealed record BreachFigures(string Name, long Rows, long Accounts);

/// <param name="Name">Lower-case.</param>
public sealed record DomainFigures(string Name, long Accounts);

/// <param name="Accounts">Distinct accounts in both breaches.</param>
public sealed record OverlapFigures(string One, string Other, long Accounts);
