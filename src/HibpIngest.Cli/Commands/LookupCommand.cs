using HibpIngest.Api.Lookup;
using HibpIngest.Storage.Azure;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Cli.Commands;

internal sealed class LookupCommand : HibpCommand
{
    private const string StandardInput = "-";

    private readonly Argument<string> _email =
        new("EMAIL") { Description = "The address. - reads addresses from standard input, one a line." };

    public LookupCommand()
        : base("lookup", "Show which public breaches an address is in.")
    {
        Add(_email);
        AddExamples(
            ("hibp lookup somebody@example.com", "breaches with their dates and data classes"),
            ("hibp lookup somebody@example.com --json", "as JSON: {\"account\", \"breaches\": [...]}"),
            ("hibp lookup - < addresses.txt", "many addresses; as JSON: {\"accounts\": [...], ...}"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var email = session.Parsed.GetRequiredValue(_email);
        if (email == StandardInput)
        {
            await ShowAllAsync(session, cancellationToken);
            return;
        }
        var account = Parse(email);
        using var storage = await session.OpenAccountAsync(cancellationToken);
        var breaches = await FindAsync(Open(session, storage), storage, account, cancellationToken);
        if (!session.Screen.TryShowJson(() => new LookupDocument(Normalise(email), breaches)))
            Show(session.Screen, email, breaches);
    }

    private static async Task ShowAllAsync(CommandSession session, CancellationToken cancellationToken)
    {
        using var storage = await session.OpenAccountAsync(cancellationToken);
        var accounts = Open(session, storage);
        var documents = new List<LookupDocument>();
        var refused = new List<LookupRefusal>();
        var (lines, read) = (0, 0);
        while (await session.Environment.Input.ReadLineAsync(cancellationToken) is { } line)
        {
            lines++;
            if (string.IsNullOrWhiteSpace(line))
                continue;
            read++;
            if (!AccountRules.TryParse(line, out var account, out var broken))
            {
                refused.Add(new LookupRefusal(lines, RuleWords.Of(broken)));
                session.Screen.Say($"line {lines}: not a valid address: {refused[^1].Reason}");
                continue;
            }
            var breaches = await FindAsync(accounts, storage, account, cancellationToken);
            if (session.Screen.Json)
                documents.Add(new LookupDocument(Normalise(line), breaches));
            else
                Show(session.Screen, line, breaches);
        }
        _ = session.Screen.TryShowJson(() => new LookupListDocument(documents, refused));
        if (refused.Count > 0)
            throw new CommandFailedException(
            $"{TableFormat.Number(refused.Count)} of {TableFormat.Number(read)} lines are not valid addresses; correct or remove them");
    }

    private static Account Parse(string email) => AccountRules.TryParse(email, out var account, out var broken) ? account
        : throw new BadInputException($"EMAIL: not a valid address: {RuleWords.Of(broken)}");

    /// <summary>Opens the same lookups that the API uses.</summary>
    private static BreachedAccounts Open(CommandSession session, StorageAccount storage) => new(
        new CatalogueReader(storage.Catalogue, session.Time, NullLogger<CatalogueReader>.Instance),
        new LayoutReads(storage.Register, storage.StoreAccounts, storage.Tables, session.Time, NullLogger<LayoutReads>.Instance));

    private static async Task<IReadOnlyList<PublicBreach>> FindAsync(
        BreachedAccounts accounts, StorageAccount storage, Account account, CancellationToken cancellationToken)
    {
        try
        {
            var found = await accounts.FindAsync(account, cancellationToken);
            return [.. found.Select(breach => breach.Model)];
        }
        catch (StoreMissingException)
        {
            throw new NotPossibleException(
                $"storage {storage.DisplayName} is not set up yet: run 'hibp run' to set it up, or set HIBP_STORAGE to another account");
        }
    }

    public static void Show(Screen screen, string email, IReadOnlyList<PublicBreach> breaches)
    {
        if (breaches.Count == 0)
        {
            screen.Show($"{Normalise(email)} is in no public breach.");
            return;
        }
        var table = TableFormat.Create("breach", "date", "exposed", "note").AddRows(breaches, breach =>
        [
            Title(breach), TableFormat.Date(breach.BreachDate), string.Join(", ", breach.DataClasses),
            string.Join(", ", Notes(breach)),
        ]);
        screen.Show($"{Normalise(email)} is in {breaches.Count} public {(breaches.Count == 1 ? "breach" : "breaches")}:");
        screen.Show(table);
    }

    private static string Normalise(string email) => email.Trim().ToLowerInvariant();

    private static string Title(PublicBreach breach) =>
        breach.Title.Equals(breach.Name, StringComparison.OrdinalIgnoreCase) ? breach.Name : $"{breach.Name} ({breach.Title})";

    /// <summary>Returns the notes that must accompany a breach in a result.</summary>
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
