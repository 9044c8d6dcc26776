using System.CommandLine;
using HibpIngest.Breaches;
using HibpIngest.Cli.Output;
using HibpIngest.Lookup;
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
        await using var pipeline = await session.OpenExistingAsync(cancellationToken);
        var email = session.Parsed.GetRequiredValue(_email);
        var breaches = await pipeline.Context.NewLookup().FindAsync(email, cancellationToken);
        if (session.Screen.Json)
            session.Screen.ShowJson(Document(email, breaches), Documents.Default.LookupDocument);
        else
            Show(session.Screen, email, breaches);
        return 0;
    }

    /// <summary>The answer as a table, as the demo shows it too.</summary>
    public static void Show(Screen screen, string email, IReadOnlyList<Breach> breaches)
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
                new Text(TableFormat.Date(breach.Metadata.BreachDate)),
                new Text(string.Join(", ", breach.Metadata.DataClasses)),
                new Text(string.Join(", ", Notes(breach.Metadata.Flags))));
        }
        screen.Show($"{Normalise(email)} is in {breaches.Count} public {(breaches.Count == 1 ? "breach" : "breaches")}:");
        screen.Show(table);
    }

    private static string Normalise(string email) => email.Trim().ToLowerInvariant();

    private static string Title(Breach breach) =>
        breach.Metadata.Title is { } title && !title.Equals(breach.Name, StringComparison.OrdinalIgnoreCase)
        ? $"{breach.Name} ({title})" : breach.Name;

    /// <summary>What has to be said about a breach along with the fact that somebody is in it.</summary>
    private static IEnumerable<string> Notes(BreachFlags flags)
    {
        if (!flags.HasFlag(BreachFlags.Verified))
            yield return "unverified";
        if (flags.HasFlag(BreachFlags.Fabricated))
            yield return "fabricated";
        if (flags.HasFlag(BreachFlags.SpamList))
            yield return "spam list";
        if (flags.HasFlag(BreachFlags.Malware))
            yield return "malware";
        if (flags.HasFlag(BreachFlags.StealerLog))
            yield return "stealer log";
    }

    private static LookupDocument Document(string email, IReadOnlyList<Breach> breaches) =>
        new(Normalise(email), [.. breaches.Select(PublicBreach.Of)]);
}
