namespace HibpIngest.Api.Pages;

internal static class BreachText
{
    public static string Initials(string title)
    {
        var words = title.Split([' ', '-', '.', '_'], StringSplitOptions.RemoveEmptyEntries)
            .Select(word => word.EnumerateRunes().FirstOrDefault(Rune.IsLetterOrDigit)).Where(rune => rune != default).Take(2).ToList();
        return words.Count == 0 ? "?" : string.Concat(words.Select(rune => Rune.ToUpperInvariant(rune).ToString()));
    }

    public static string Date(DateOnly? date) =>
        date?.ToString("d MMMM yyyy", CultureInfo.InvariantCulture) ?? PageText.Get("Breach.NoDate");

    public static string Count(long number) => number.ToString("N0", CultureInfo.InvariantCulture);

    public static string Accounts(long accounts) =>
        accounts == 1 ? PageText.Get("Breach.OneAccount") : PageText.Format("Breach.Accounts", Count(accounts));

    public static IReadOnlyList<string> FlagsOf(PublicBreach breach) =>
    [
        .. Enum.GetValues<BreachFlags>().Where(flag => flag != BreachFlags.None && breach.GetFlags().HasFlag(flag))
            .Select(flag => PageText.Find($"Flag.{flag}")).OfType<string>(),
        .. breach.IsVerified ? (string[])[] : [PageText.Get("Flag.Unverified")],
    ];

    /// <summary>Returns the part of the metadata on which <see cref="Advice"/> depends.</summary>
    public static BreachMetadata MetadataOf(PublicBreach breach) => new() { Flags = breach.GetFlags(), DataClasses = breach.DataClasses };
}
