using HibpIngest.Cli.Backups;
using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Cli.Commands;

internal abstract class AddressCommand : HibpCommand
{
    private readonly Argument<string> _address = new("ADDRESS")
    {
        Description = "The address, or - to read addresses from standard input, one per line. Other users of this machine can see an "
            + "address given here while the command runs.",
    };

    private readonly Option<string[]> _domains = new("--domain")
    {
        Description = "Selects the subscription to this domain instead of to the address itself. Can be repeated.",
        HelpName = "DOMAIN",
    };

    protected AddressCommand(string name, string description)
        : base(name, description)
    {
    }

    protected AddressCommand(string name, string description, bool hasDomains)
        : this(name, description)
    {
        Add(_address);
        if (hasDomains)
            Add(_domains);
    }

    /// <exception cref="BadInputException">A value is not an address; the message doesn't contain it.</exception>
    protected Task<IReadOnlyList<string>> ReadAddressesAsync(CommandSession session, CancellationToken cancellationToken) =>
        ReadAddressesAsync(session, session.Parsed.GetRequiredValue(_address), "ADDRESS", cancellationToken);

    /// <param name="given">The address, or - for standard input.</param>
    protected static async Task<IReadOnlyList<string>> ReadAddressesAsync(
        CommandSession session, string given, string where, CancellationToken cancellationToken)
    {
        var addresses = new List<string>();
        if (given != "-")
            addresses.Add(ParseAddress(given, where));
        else
        {
            for (var line = 1; await session.Environment.Input.ReadLineAsync(cancellationToken) is { } text; line++)
            {
                if (!string.IsNullOrWhiteSpace(text))
                    addresses.Add(ParseAddress(text, $"line {TableFormat.Number(line)} of standard input"));
            }
            if (addresses.Count == 0)
                throw new BadInputException("standard input is empty: expected one address per line");
        }
        return [.. addresses.Distinct()];
    }

    protected IReadOnlyList<string> ReadDomains(ParseResult parsed) =>
        [.. (parsed.GetValue(_domains) ?? []).Select(text => text.Trim().ToLowerInvariant()).Distinct().Select(domain =>
            AccountRules.TryParseDomain(domain, out _, out _)
            ? domain : throw new BadInputException("--domain: expected a domain, such as example.com"))];

    protected static void Show(CommandSession session, SubscribersRemoved removed, string note)
    {
        session.Screen.ShowResult(new SubscribersRemovedDocument(removed.Subscriptions, removed.Notifications),
            $"Deleted {TableFormat.Count(removed.Subscriptions, "subscription")} and "
            + $"{TableFormat.Count(removed.Notifications, "notification")}{note}.");
    }

    private static string ParseAddress(string text, string where)
    {
        var address = text.Trim().ToLowerInvariant();
        return AccountRules.TryParse(address, out _, out var broken) ? address
            : throw new BadInputException($"{where} is not an address{(broken is null ? "" : $" (it breaks the rule {broken})")}");
    }
}

internal sealed class SubscribersAddCommand : AddressCommand
{
    private readonly Option<bool> _again = new("--again")
    {
        Description = "Lift the suppression of an address that unsubscribed, bounced, complained or was forgotten, because the person "
            + "wants it. Requires HIBP_SUPPRESSION_KEY.",
    };

    public SubscribersAddCommand()
        : base("add", "Notify an address of its own breaches, or of all addresses of a domain.", hasDomains: true)
    {
        Add(_again);
        AddExamples(
            ("hibp subscribers add me@example.com", "notified when this address is in a breach"),
            ("hibp subscribers add admin@example.com --domain example.com", "notified of every address of the domain"),
            ("hibp subscribers add - --again", "an address from standard input that had unsubscribed, and wants notifications again"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var domains = ReadDomains(session.Parsed);
        var addresses = await ReadAddressesAsync(session, cancellationToken);
        var wanted = addresses
            .SelectMany(address => domains.Count == 0 ? [new(address, null)] : domains.Select(domain => new Subscription(address, domain)))
            .ToList();
        var imported = await AddAsync(session, wanted, cancellationToken);
        var existing = wanted.Count - imported.Added - imported.Suppressed;
        if (imported.Suppressed > 0)
        {
            throw new NotPossibleException(
                $"{TableFormat.Number(imported.Suppressed)} of {TableFormat.Number(wanted.Count)} subscriptions are suppressed "
                + "(unsubscribed, bounced, complained or forgotten) and were not added; "
                + $"{TableFormat.Number(imported.Added)} were added, and {TableFormat.Number(existing)} already existed. If the person "
                + "asked for it, run the command again with --again");
        }
        session.Screen.ShowResult(new SubscribersAddedDocument(imported.Added, existing),
            $"Added {TableFormat.Count(imported.Added, "subscription")}"
            + (existing > 0 ? $"; {TableFormat.Number(existing)} already existed." : "."));
    }

    /// <summary>Adds subscriptions. Opens the store's register only with --again, which changes it.</summary>
    private async Task<SubscribersImported> AddAsync(
        CommandSession session, IReadOnlyCollection<Subscription> wanted, CancellationToken cancellationToken)
    {
        if (session.Parsed.GetValue(_again))
        {
            await using var services = await session.OpenExistingAsync(cancellationToken);
            return await services.GetRequiredService<SubscriberOperations>().AddAsync(wanted, again: true, cancellationToken);
        }
        var key = session.Settings.OpenSuppressionKey();
        await using var database = await session.OpenDatabaseAsync(cancellationToken);
        return await database.ImportSubscribersAsync(wanted, key, cancellationToken);
    }
}

internal sealed class SubscribersRemoveCommand : AddressCommand
{
    private const string NoReason = "none";

    private readonly Option<string> _reason = new("--reason")
    {
        Description = "The reason. unsubscribed, bounced and complaint suppress the subscription: no import adds it again (requires "
            + "HIBP_SUPPRESSION_KEY). With none, an import may add it again.",
        HelpName = "unsubscribed|bounced|complaint|none",
        DefaultValueFactory = _ => "unsubscribed",
    };

    public SubscribersRemoveCommand()
        : base(
            "remove", "Remove all subscriptions of an address, or those to some domains, with their notifications, sent or not.",
            hasDomains: true)
    {
        _reason.AcceptOnlyFromAmong("unsubscribed", "bounced", "complaint", NoReason);
        Add(_reason);
        AddExamples(
            ("hibp subscribers remove me@example.com", "on its request: no import adds it again"),
            ("hibp subscribers remove - --reason bounced < bounces.txt", "addresses whose mails bounced, one per line"),
            ("hibp subscribers remove admin@example.com --domain example.com", "one domain; other subscriptions stay"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var domains = ReadDomains(session.Parsed);
        var addresses = await ReadAddressesAsync(session, cancellationToken);
        var reasonName = session.Parsed.GetRequiredValue(_reason);
        SuppressionReason? reason = reasonName == NoReason ? null : Enum.Parse<SuppressionReason>(reasonName, ignoreCase: true);
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var removed = await services.GetRequiredService<SubscriberOperations>().RemoveAsync(addresses, domains, reason, cancellationToken);
        Show(session, removed, reason is null ? "; an import may add them again" : ", and no import adds them again");
    }
}

internal sealed class SubscribersForgetCommand : AddressCommand
{
    public SubscribersForgetCommand()
        : base("forget", "Delete all data of a subscriber. Only a hash under HIBP_SUPPRESSION_KEY remains, so that no import adds the "
            + "address again. Breached accounts are not affected.", hasDomains: false)
    {
        AddExamples(("hibp subscribers forget -", "an address from standard input, which no process list shows"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var addresses = await ReadAddressesAsync(session, cancellationToken);
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var removed = await services.GetRequiredService<SubscriberOperations>()
            .RemoveAsync(addresses, [], SuppressionReason.Forgotten, cancellationToken);
        var subject = addresses.Count == 1 ? "the address is" : $"{TableFormat.Number(addresses.Count)} addresses are";
        Show(session, removed, $", and {subject} forgotten; docs/operating.md lists what remains elsewhere, and for how long");
    }
}

internal sealed class SubscribersExportCommand : HibpCommand
{
    private readonly Argument<FileInfo?> _file =
        new("FILE") { Description = "A new file. Default: standard output.", Arity = ArgumentArity.ZeroOrOne };

    public SubscribersExportCommand()
        : base("export", "Write all subscriptions as CSV, in the format of import. Removed and forgotten subscribers are not included.")
    {
        Add(_file);
        AddExamples(("hibp subscribers export subscribers.csv", "a file that only this user can read"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var database = await session.OpenExistingDatabaseAsync(cancellationToken);
        var file = session.Parsed.GetValue(_file);
        if (file is null)
        {
            if (session.Screen.Json)
            {
                await SubscribersListCommand.ShowAsync(session, database, cancellationToken);
                return;
            }
            session.Screen.Show("email,domain");
            await foreach (var (email, domain) in database.ListSubscribersAsync(cancellationToken))
                session.Screen.Show(Line(email, domain));
            return;
        }
        if (file.Exists)
            throw new NotPossibleException($"{file.Name} already exists: choose another name");
        var count = 0;
        await using (var writer = new StreamWriter(FileCopy.Create(file.FullName)))
        {
            await writer.WriteLineAsync("email,domain");
            await foreach (var (email, domain) in database.ListSubscribersAsync(cancellationToken))
            {
                await writer.WriteLineAsync(Line(email, domain));
                count++;
            }
        }
        session.Screen.ShowResult(new ExportDocument(file.FullName, count),
            $"Exported {TableFormat.Count(count, "subscription")} to {file.Name}.");
    }

    /// <summary>Formats a CSV line. No accepted address or domain contains a comma; one from an older version might have a quote.</summary>
    private static string Line(string email, string? domain) =>
        email.AsSpan().ContainsAny(',', '"')
            ? $"\"{email.Replace("\"", "\"\"", StringComparison.Ordinal)}\",{domain}" : $"{email},{domain}";
}

internal sealed class SubscribersImportCommand : HibpCommand
{
    // Size of one transaction.
    private const int ChunkLines = 10_000;

    private readonly Argument<FileInfo> _file = new("CSV")
    {
        Description = "File with the header email,domain. An empty domain subscribes the address to itself; a domain subscribes it to that "
            + "domain."
    };

    private readonly Option<bool> _skipInvalid = new("--skip-invalid")
    {
        Description = "Import the valid lines of a file with invalid ones. Without it, such a file is refused. Invalid lines are listed by "
            + "number in both cases.",
    };

    public SubscribersImportCommand()
        : base("import", "Add subscriptions from a CSV file. Existing subscriptions are unchanged; suppressed ones are skipped.")
    {
        Add(_file.AcceptExistingOnly(), _skipInvalid);
        AddExamples(
            ("hibp subscribers import samples/subscribers.csv", "lines such as alice@example.com, or admin@example.com,example.com"),
            ("hibp subscribers import subscribers.csv --skip-invalid", "skips lines without a valid address or domain"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var key = session.Settings.OpenSuppressionKey();
        await using var database = await session.OpenDatabaseAsync(cancellationToken);
        var file = session.Parsed.GetRequiredValue(_file);
        var invalid = new List<InvalidLine>();
        var subscriptions = Read(file.FullName, (line, reason) => invalid.Add(new InvalidLine(line, reason)));
        foreach (var one in invalid)
            session.Screen.Say($"line {one.Line}: {one.Reason}");
        if (invalid.Count > 0 && !session.Parsed.GetValue(_skipInvalid))
        {
            throw new BadInputException($"{(invalid.Count == 1 ? "1 line" : $"{TableFormat.Number(invalid.Count)} lines")} of {file.Name} "
                + $"{(invalid.Count == 1 ? "is" : "are")} invalid, and nothing was imported; correct the file, or add --skip-invalid to "
                + "import the valid lines");
        }
        var imported = await ImportAsync(database, key, subscriptions, cancellationToken);
        var read = subscriptions.Count;
        session.Screen.ShowResult(new ImportDocument(read, imported.Added, imported.Suppressed, invalid),
            $"{TableFormat.Count(read, "subscription")} read, {TableFormat.Number(imported.Added)} added"
            + (imported.Suppressed > 0
                ? $", {TableFormat.Number(imported.Suppressed)} suppressed (unsubscribed, bounced, complained or forgotten)"
                : "")
            + (invalid.Count > 0 ? $"; {TableFormat.Number(invalid.Count)} invalid and not imported." : "."));
    }

    /// <summary>Reads a whole file (<see cref="SubscriberFile.Read"/>): nothing is imported before every line has been read.</summary>
    public static IReadOnlyList<Subscription> Read(string path, Action<long, string>? onBadLine = null)
    {
        using var file = File.OpenRead(path);
        return SubscriberFile.Read(file, onBadLine);
    }

    public static async Task<SubscribersImported> ImportAsync(
        IBreachDatabase database, SuppressionKey? key, IReadOnlyList<Subscription> subscriptions, CancellationToken cancellationToken)
    {
        var (added, suppressed) = (0, 0);
        foreach (var chunk in subscriptions.Chunk(ChunkLines))
        {
            var imported = await database.ImportSubscribersAsync(chunk, key, cancellationToken);
            (added, suppressed) = (added + imported.Added, suppressed + imported.Suppressed);
        }
        return new SubscribersImported(added, suppressed);
    }
}

internal sealed class SubscribersListCommand : HibpCommand
{
    private readonly Option<bool> _suppressed = new("--suppressed")
    {
        Description = "List what is suppressed instead: the reason, since when, and the keyed hash of the address or subscription. An "
            + "address can't be read from its hash.",
    };

    public SubscribersListCommand()
        : base("list", "List all subscriptions.")
    {
        Add(_suppressed);
        AddExamples(
            ("hibp subscribers list", "by address"),
            ("hibp subscribers list --suppressed", "who unsubscribed, bounced, complained or was forgotten"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var database = await session.OpenExistingDatabaseAsync(cancellationToken);
        await (session.Parsed.GetValue(_suppressed) ? ShowSuppressedAsync(session, database, cancellationToken)
            : ShowAsync(session, database, cancellationToken));
    }

    private static async Task ShowSuppressedAsync(CommandSession session, IBreachDatabase database, CancellationToken cancellationToken)
    {
        var lines = (await database.ListSuppressionsAsync(cancellationToken)).OrderBy(one => one.At)
            .Select(one => new SuppressedLine(one.Reason.ToString().ToLowerInvariant(), one.At, one.Hash)).ToList();
        if (session.Screen.TryShowJson(() => new SuppressionsDocument(lines)))
            return;
        var table = TableFormat.Create("reason", "since", "hash")
            .AddRows(lines, line => [line.Reason, TableFormat.Moment(line.Since), line.Hash]);
        session.Screen.Show(table, ifEmpty: "Nothing is suppressed.");
    }

    public static async Task ShowAsync(CommandSession session, IBreachDatabase database, CancellationToken cancellationToken)
    {
        var suppressed = (await database.ListSuppressionsAsync(cancellationToken)).GroupBy(one => one.Reason).OrderBy(group => group.Key)
            .ToDictionary(group => group.Key.ToString().ToLowerInvariant(), group => group.Count());
        var subscriptions = await database.ListSubscribersAsync(cancellationToken).ToListAsync(cancellationToken);
        var lines = subscriptions.Select(one => new SubscriberLine(one.Email, one.Domain)).ToList();
        if (session.Screen.TryShowJson(() => new SubscribersDocument(lines) { Suppressed = suppressed }))
            return;
        Show(session.Screen, subscriptions);
        if (suppressed.Count > 0)
            session.Screen.Show($"Suppressed: {string.Join(", ", suppressed.Select(one => $"{one.Value} {one.Key}"))}.");
    }

    internal static void Show(Screen screen, IReadOnlyList<Subscription> subscriptions)
    {
        var table = TableFormat.Create("subscriber", "notified about")
            .AddRows(subscriptions, one => [one.Email, one.Domain is null ? "own address" : $"domain {one.Domain}"]);
        screen.Show(
            table, ifEmpty: "No subscriptions yet. Add one: hibp subscribers add ADDRESS. Import many: hibp subscribers import CSV");
    }
}
