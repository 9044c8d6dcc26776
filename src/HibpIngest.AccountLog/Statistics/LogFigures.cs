namespace HibpIngest.AccountLog;

/// <summary>What is in the loads of the account log that count.</summary>
public sealed record LogFigures
{
    /// <summary>Rows of all loads; an account of several loads is in as many.</summary>
    public required long Rows { get; init; }

    public required long Accounts { get; init; }

    /// <summary>Of these, those that are in more breaches than one.</summary>
    public required long AccountsInSeveral { get; init; }

    public required long Domains { get; init; }

    /// <summary>The most accounts first.</summary>
    public required IReadOnlyList<BreachFigures> Breaches { get; init; }

    /// <summary>The largest of them, the most accounts first.</summary>
    public required IReadOnlyList<DomainFigures> LargestDomains { get; init; }

    /// <summary>Each two breaches that share an account, the most shared first.</summary>
    public required IReadOnlyList<OverlapFigures> Overlaps { get; init; }
}

/// <param name="Accounts">Distinct accounts: the number that may be told of it.</param>
public sealed record BreachFigures(string Name, long Rows, long Accounts);

/// <param name="Name">Lower-case.</param>
public sealed record DomainFigures(string Name, long Accounts);

/// <param name="Accounts">Distinct accounts that are in both.</param>
public sealed record OverlapFigures(string One, string Other, long Accounts);
