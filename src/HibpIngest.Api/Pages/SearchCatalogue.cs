namespace HibpIngest.Api.Pages;

/// <summary>
/// What the script of a page shows of each breach: one document for all of them, so that no request reveals which breaches were found.
/// Sentences are listed once; a breach refers to them by number.
/// </summary>
internal sealed class SearchCatalogue(CatalogueReader catalogue)
{
    private (CatalogueSnapshot Of, ReadyContent Content)? _last;

    public async Task<ReadyContent> GetAsync(CancellationToken cancellationToken)
    {
        var snapshot = await catalogue.GetAsync(cancellationToken);
        if (_last is { } last && ReferenceEquals(last.Of, snapshot))
            return last.Content;
        var content = ReadyContent.Of(Serialize(snapshot));
        _last = (snapshot, content);
        return content;
    }

    private static byte[] Serialize(CatalogueSnapshot snapshot)
    {
        var texts = new List<string>();
        var breaches = snapshot.ByTitle.Select(breach => breach.Model).Where(model => !model.IsSensitive && !model.IsRetired)
            .Select(model => new
            {
                name = model.Name,
                title = model.Title,
                initials = BreachText.Initials(model.Title),
                date = BreachText.Date(model.BreachDate),
                exposed = model.DataClasses.Select(NumberOf).ToArray(),
                notes = Advice.Notes(model.GetFlags()).Select(NumberOf).ToArray(),
                steps = Advice.ForPerson(BreachText.MetadataOf(model), "{title}", null).Select(NumberOf).ToArray(),
            }).ToList();
        return JsonSerializer.SerializeToUtf8Bytes(new { texts, breaches });

        int NumberOf(string text)
        {
            if (texts.IndexOf(text) is >= 0 and var known)
                return known;
            texts.Add(text);
            return texts.Count - 1;
        }
    }
}
