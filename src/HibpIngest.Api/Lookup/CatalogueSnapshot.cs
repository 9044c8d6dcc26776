namespace HibpIngest.Api.Lookup;

/// <summary>One version of the catalogue: the breaches and their marks.</summary>
public sealed class CatalogueSnapshot
{
    // The breaches by mark. Null if the mark isn't current.
    private readonly PublishedBreach?[] _byMark;
    private readonly Dictionary<string, PublishedBreach> _byName = new(StringComparer.OrdinalIgnoreCase);

    internal CatalogueSnapshot(CatalogueIds ids, ReadyContent breaches, ReadyContent latest, ReadyContent dataClasses)
    {
        (Version, AllBreaches, Latest, DataClasses) = (ids.Version, breaches, latest, dataClasses);
        var models = JsonSerializer.Deserialize(breaches.Identity.Span, CatalogueJson.Default.IReadOnlyListPublicBreach) ?? [];
        foreach (var (ordinal, model) in models.OrderBy(breach => breach.Name, StringComparer.Ordinal).Index())
            _byName[model.Name] = PublishedBreach.Of(model, ordinal);
        ByTitle = [.. models.Select(model => _byName[model.Name])];

        // A breach in only one of the two documents is being added or removed: it is in no response about an account.
        var known = ids.Breaches.Where(breach => _byName.ContainsKey(breach.Name)).ToList();
        _byMark = new PublishedBreach?[known.SelectMany(breach => breach.Marks).DefaultIfEmpty(0).Max() + 1];
        foreach (var breach in known)
        {
            foreach (var mark in breach.Marks)
                _byMark[mark] = _byName[breach.Name];
        }
    }

    public long Version { get; }

    /// <summary>The highest current mark. 0 if there is none.</summary>
    public int HighestMark => _byMark.Length - 1;
    public IReadOnlyList<PublishedBreach> ByTitle { get; }
    public ReadyContent AllBreaches { get; }

    /// <summary>The breach that was added last; JSON <c>null</c> if there is none.</summary>
    public ReadyContent Latest { get; }
    public ReadyContent DataClasses { get; }

    public PublishedBreach? Find(string name) => _byName.GetValueOrDefault(name);

    /// <summary>
    /// Returns the breaches of these marks, each once, by name; marks that aren't current are ignored. None if an opt-out hides them.
    /// </summary>
    /// <param name="forOwner">True if the reader owns the account's domain: sensitive breaches are included.</param>
    public IReadOnlyList<PublishedBreach> BreachesOf(IReadOnlyList<int> marks, bool forOwner)
    {
        if (OptOut.Hides(marks, forOwner))
            return [];
        List<PublishedBreach>? found = null;
        for (var i = 0; i < marks.Count; i++)
        {
            if (marks[i] > 0 && marks[i] < _byMark.Length && _byMark[marks[i]] is { } breach && !breach.Model.IsRetired
                && (forOwner || !breach.Model.IsSensitive) && found?.Contains(breach) != true)
                (found ??= []).Add(breach);
        }
        if (found is null)
            return [];
        found.Sort((left, right) => left.Ordinal.CompareTo(right.Ordinal));
        return found;
    }
}
