using System.CommandLine;
using HibpIngest.Accounts;
using HibpIngest.AzureStorage;
using HibpIngest.Breaches;
using HibpIngest.Cli.Output;
using HibpIngest.Errors;
using HibpIngest.Hosting.Web;
using HibpIngest.Lookup;
using Microsoft.Extensions.Logging.Abstractions;
using Spectre.Console;

namespace HibpIngest.Cli.Commands;

internal sealed class LookupCommand : HibpCommand
{
    private readonly Argument<string> _email = new("EMAIL") { Description = "The address." };

    public LookupCommand()
        : base("lookup", "Show which public breaches an address is in.")
    {
        Add(_email);
        Examples =
        [
            ("hibp lookup somebody@example.com", "breaches with their dates and what was lost"),
            ("hibp lookup somebody@example.com --json", "the same for a program: {\"account\", \"breaches\": [...]}"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var email = session.Parsed.GetRequiredValue(_email);
        using var account = await session.OpenAccountAsync(cancellationToken);
        var breaches = await FindAsync(session, account, email, cancellationToken);
        if (session.Screen.Json)
            session.Screen.ShowJson(new LookupDocument(Normalise(email), breaches), Documents.Default.LookupDocument);
        else
            Show(session.Screen, email, breaches);
        return 0;
    }

    /// <summary>As the API finds it.</summary>
    /// <exception cref="BadInputException">Not an address.</exception>
    public static async Task<IReadOnlyList<PublicBreach>> FindAsync(
        CommandSession session, StorageAccount account, string email, CancellationToken cancellationToken)
    {
        if (!AccountRules.TryParse(email, out var alias, out var domain, out var broken))
            throw new BadInputException($"that is no email address that could be an account (rule {broken})");
        var catalogue = new CatalogueReader(account.Catalogue, session.Time, NullLogger<CatalogueReader>.Instance);
        try
        {
            var reads = WebFactory.ReadsOf(account, session.Time, NullLoggerFactory.Instance);
            var found = await new BreachedAccounts(catalogue, reads).FindAsync(alias, domain, cancellationToken);
            return [.. found.Select(breach => breach.Model)];
        }
        catch (StoreMissingException)
        {
            throw new NotPossibleException(
                $"storage {account.DisplayName} is not set up yet: 'hibp run' does that, or name the one that is meant by HIBP_STORAGE");
        }
    }

    /// <summary>The answer as a table, as the demo shows it too.</summary>
    public static void Show(Screen screen, string email, IReadOnlyList<PublicBreach> breaches)
    {
        if (breaches.Count == 0)
        {
            screen.Show($"{Normalise(email)} is in no public breach.");
            return;
        }
        var table = TableFormat.Create("breach", "date", "what was lost", "note");
        foreach (var breach in breaches)
        {
            table.AddRow(
                new Text(Title(breach)),
                new Text(TableFormat.Date(breach.BreachDate)),
                new Text(string.Join(", ", breach.DataClasses)),
                new Text(string.Join(", ", Notes(breach))));
        }
        screen.Show($"{Normalise(email)} is in {breaches.Count} public {(breaches.Count == 1 ? "breach" : "breaches")}:");
        screen.Show(table);
    }

    private static string Normalise(string email) => email.Trim().ToLowerInvariant();

    private static string Title(PublicBreach breach) =>
        breach.Title.Equals(breach.Name, StringComparison.OrdinalIgnoreCase) ? breach.Name : $"{breach.Name} ({breach.Title})";

    /// <summary>What has to be said about a breach along with the fact that somebody is in it.</summary>
    private static IEnumerable<string> Notes(PublicBreach breach)
    {
        if (!breach.IsVerified)
            yield return "unverified";
        if (breach.IsFabricated)
            yield return "fabricated";
        if (breach.IsSpamList)
            yield return "spam list";
        if (breach.IsMalware)
            yield return "malware";
        if (breach.IsStealerLog)
            yield return "stealer log";
    }
}
