namespace HibpIngest.Api.Pages;

/// <summary>The part of the breaches that a visitor chose by the query of the list's page.</summary>
public sealed record BreachList
{
    public const int PerPage = 100;

    public static readonly IReadOnlyList<string> Orders = ["added", "date", "size", "title"];

    public required IReadOnlyList<PublicBreach> Shown { get; init; }
    public required int Found { get; init; }
    public required int All { get; init; }
    public required string Order { get; init; }
    public required int? Year { get; init; }
    public required string? DataClass { get; init; }
    public required int Page { get; init; }
    public required IReadOnlyList<int> Years { get; init; }
    public required IReadOnlyList<string> DataClasses { get; init; }

    public int Pages => Math.Max(1, (Found + PerPage - 1) / PerPage);

    /// <summary>Unknown values of the query are ignored.</summary>
    public static BreachList Of(IReadOnlyList<PublicBreach> all, IQueryCollection query)
    {
        var years = all.Select(breach => breach.BreachDate?.Year).OfType<int>().Distinct().OrderDescending().ToList();
        var classes = all.SelectMany(breach => breach.DataClasses).Distinct().Order(StringComparer.Ordinal).ToList();
        var order = Orders.FirstOrDefault(one => one == First("sort")) ?? Orders[0];
        var year = int.TryParse(First("year"), out var given) && years.Contains(given) ? given : (int?)null;
        var dataClass = classes.FirstOrDefault(one => one == First("data"));
        var found = Ordered(
            all.Where(breach => (year is null || breach.BreachDate?.Year == year)
                && (dataClass is null || breach.DataClasses.Contains(dataClass))), order).ToList();
        var pages = Math.Max(1, (found.Count + PerPage - 1) / PerPage);
        var page = int.TryParse(First("page"), out var number) ? Math.Clamp(number, 1, pages) : 1;
        return new BreachList
        {
            Shown = [.. found.Skip((page - 1) * PerPage).Take(PerPage)],
            Found = found.Count,
            All = all.Count,
            Order = order,
            Year = year,
            DataClass = dataClass,
            Page = page,
            Years = years,
            DataClasses = classes,
        };

        string? First(string name) => query[name].FirstOrDefault();
    }

    /// <summary>Returns the address of another page of the same list.</summary>
    public string AddressOf(int page) => $"/breaches{QueryString.Create(new Dictionary<string, string?>
    {
        ["sort"] = Order,
        ["year"] = Year?.ToString(CultureInfo.InvariantCulture),
        ["data"] = DataClass,
        ["page"] = page.ToString(CultureInfo.InvariantCulture),
    }.Where(pair => pair.Value is not null))}";

    private static IEnumerable<PublicBreach> Ordered(IEnumerable<PublicBreach> breaches, string order) => order switch
    {
        "date" => breaches.OrderByDescending(breach => breach.BreachDate ?? DateOnly.MinValue),
        "size" => breaches.OrderByDescending(breach => breach.PwnCount),
        "title" => breaches, // the catalogue's order
        _ => breaches.OrderByDescending(breach => breach.AddedDate),
    };
}
