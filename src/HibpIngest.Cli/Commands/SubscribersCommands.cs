using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Cli.Commands;

internal sealed class SubscribersCommands() : CommandGroup(
    "subscribers", "Who is told about breaches, and who is not to be.", new SubscribersAddCommand(), new SubscribersRemoveCommand(),
    new SubscribersForgetCommand(), new SubscribersListCommand(), new SubscribersExportCommand(), new SubscribersImportCommand());

internal abstract class AddressCommand : HibpCommand
{
    private readonly Argument<string> _address = new("ADDRESS")
    {
        Description = "The address. Other users of this machine can see it while the command runs: - reads addresses from standard input "
            + "instead, one a line.",
    };

    private readonly Option<string[]> _domains = new("--domain")
    {
        Description = "The subscription to this domain, instead of to the address itself; may be given several times.",
        HelpName = "DOMAIN",
    };

    protected AddressCommand(string name, string description, bool hasDomains)
        : base(name, description)
    {
        Add(_address);
        if (hasDomains)
            Add(_domains);
    }

    /// <summary>Returns the given addresses, in lower case.</summary>
    /// <exception cref="BadInputException">A value is no address; the message doesn't contain it.</exception>
    protected async Task<IReadOnlyList<string>> ReadAddressesAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var addresses = new List<string>();
        if (session.Parsed.GetRequiredValue(_address) is not "-" and var given)
            addresses.Add(Address(given, "ADDRESS"));
        else
        {
            for (var line = 1; await session.Environment.Input.ReadLineAsync(cancellationToken) is { } text; line++)
            {
                if (!string.IsNullOrWhiteSpace(text))
                    addresses.Add(Address(text, $"line {TableFormat.Number(line)} of standard input"));
            }
            if (addresses.Count == 0)
                throw new BadInputException("standard input holds no address; one is expected on each line");
        }
        return [.. addresses.Distinct()];
    }

    /// <exception cref="BadInputException">A value is no domain.</exception>
    protected IReadOnlyList<string> ReadDomains(ParseResult parsed) =>
        [.. (parsed.GetValue(_domains) ?? []).Select(text => text.Trim().ToLowerInvariant()).Distinct().Select(domain =>
            AccountRules.TryParseDomain(domain, out _, out _)
            ? domain : throw new BadInputException("--domain is expected to be a domain, as in example.com"))];

    protected static void Show(CommandSession session, SubscribersRemoved removed, string then)
    {
        session.Screen.ShowResult(
            new SubscribersRemovedDocument(removed.Subscriptions, removed.Notifications), Documents.Default.SubscribersRemovedDocument,
            $"{TableFormat.Number(removed.Subscriptions)} subscriptions and "
            + $"{TableFormat.Number(removed.Notifications)} notifications are gone{then}.");
    }

    private static string Address(string text, string where)
    {
        var address = text.Trim().ToLowerInvariant();
        return AccountRules.TryParse(address, out _, out _, out var broken) ? address
            : throw new BadInputException($"{where} is not an address{(broken is null ? "" : $" (it breaks the rule {broken})")}");
    }
}

internal sealed class SubscribersAddCommand : AddressCommand
{
    private readonly Option<bool> _again = new("--again")
    {
        Description = "Although it is not to be told, because it unsubscribed, bounced, complained or was forgotten: the person wishes it. "
            + "Needs HIBP_SUPPRESSION_KEY.",
    };

    public SubscribersAddCommand()
        : base("add", "Subscribe an address to itself, or to domains.", hasDomains: true)
    {
        Add(_again);
        Examples =
        [
            ("hibp subscribers add me@example.com", "told when this address is in a breach"),
            ("hibp subscribers add admin@example.com --domain example.com", "told of every address of the domain"),
            ("hibp subscribers add - --again", "an address from standard input that had unsubscribed, and wishes to be told again"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var domains = ReadDomains(session.Parsed);
        var addresses = await ReadAddressesAsync(session, cancellationToken);
        var wanted = addresses
            .SelectMany(address => domains.Count == 0 ? [new(address, null)] : domains.Select(domain => new Subscription(address, domain)))
            .ToList();
        var imported = await AddAsync(session, wanted, cancellationToken);
        var there = wanted.Count - imported.Added - imported.Suppressed;
        if (imported.Suppressed > 0)
        {
            throw new NotPossibleException(
                $"{TableFormat.Number(imported.Suppressed)} of {TableFormat.Number(wanted.Count)} subscriptions are not to be (they "
                + "unsubscribed, bounced, complained or were forgotten), and were left out; where the person wishes it: --again");
        }
        session.Screen.ShowResult(
            new SubscribersAddedDocument(imported.Added, there), Documents.Default.SubscribersAddedDocument,
            $"{TableFormat.Number(imported.Added)} subscriptions are new"
            + (there > 0 ? $"; {TableFormat.Number(there)} were there already." : "."));
        return 0;
    }

    /// <summary>Adds subscriptions. The register is needed only if it has to change (with --again).</summary>
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
        Description = "Why. No import brings back what was removed for one of the first three, which need HIBP_SUPPRESSION_KEY; none: an "
            + "import may.",
        HelpName = "unsubscribed|bounced|complaint|none",
        DefaultValueFactory = _ => "unsubscribed",
    };

    public SubscribersRemoveCommand()
        : base("remove", "Take an address's subscriptions away, or those to domains, with the mails that wait for it.", hasDomains: true)
    {
        _reason.AcceptOnlyFromAmong("unsubscribed", "bounced", "complaint", NoReason);
        Add(_reason);
        Examples =
        [
            ("hibp subscribers remove me@example.com", "it asked for that: no import brings it back"),
            ("hibp subscribers remove - --reason bounced < bounces.txt", "addresses that mails came back from, one a line"),
            ("hibp subscribers remove admin@example.com --domain example.com", "one domain; the address's other subscriptions stay"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var domains = ReadDomains(session.Parsed);
        var addresses = await ReadAddressesAsync(session, cancellationToken);
        var named = session.Parsed.GetRequiredValue(_reason);
        SuppressionReason? reason = named == NoReason ? null : Enum.Parse<SuppressionReason>(named, ignoreCase: true);
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var removed = await services.GetRequiredService<SubscriberOperations>().RemoveAsync(addresses, domains, reason, cancellationToken);
        Show(session, removed, reason is null ? "; an import may bring them back" : ", and no import brings them back");
        return 0;
    }
}

internal sealed class SubscribersForgetCommand : AddressCommand
{
    public SubscribersForgetCommand()
        : base("forget", "Forget an address as a subscriber: nothing stays but a hash under HIBP_SUPPRESSION_KEY, which keeps an import "
            + "from bringing it back. Breached accounts are another matter.", hasDomains: false)
    {
        Examples = [("hibp subscribers forget -", "an address from standard input, so that no list of processes shows it")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var addresses = await ReadAddressesAsync(session, cancellationToken);
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var removed = await services.GetRequiredService<SubscriberOperations>()
            .RemoveAsync(addresses, [], SuppressionReason.Forgotten, cancellationToken);
        var whose = addresses.Count == 1 ? "the address is" : $"{TableFormat.Number(addresses.Count)} addresses are";
        Show(session, removed, $", and {whose} forgotten; what stays elsewhere, and for how long, is in docs/operating.md");
        return 0;
    }
}

internal sealed class SubscribersExportCommand : HibpCommand
{
    private readonly Argument<FileInfo?> _file = new("FILE")
    {
        Description = "A new file. Default: standard output.",
        Arity = ArgumentArity.ZeroOrOne,
    };

    public SubscribersExportCommand()
        : base("export", "Write all subscriptions as CSV, as import reads it. Nobody who was removed or forgotten is in it.")
    {
        Add(_file);
        Examples = [("hibp subscribers export subscribers.csv", "a file that this user alone may read")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var database = await session.OpenExistingDatabaseAsync(cancellationToken);
        var file = session.Parsed.GetValue(_file);
        if (file is null)
        {
            if (session.Screen.Json)
                return await SubscribersListCommand.ShowAsync(session, database, cancellationToken);
            session.Screen.Show("email,domain");
            await foreach (var (email, domain) in database.ListSubscribersAsync(cancellationToken))
                session.Screen.Show(Line(email, domain));
            return 0;
        }
        if (file.Exists)
            throw new NotPossibleException($"{file.Name} is there already: name a new file");
        var options = new FileStreamOptions { Mode = FileMode.CreateNew, Access = FileAccess.Write };
        if (!OperatingSystem.IsWindows())
            options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        var count = 0;
        await using (var writer = new StreamWriter(file.FullName, options))
        {
            await writer.WriteLineAsync("email,domain");
            await foreach (var (email, domain) in database.ListSubscribersAsync(cancellationToken))
            {
                await writer.WriteLineAsync(Line(email, domain));
                count++;
            }
        }
        session.Screen.ShowResult(
            new ExportDocument(file.FullName, count), Documents.Default.ExportDocument,
            $"{TableFormat.Number(count)} subscriptions are in {file.Name}.");
        return 0;
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
        Description = "File with the header email,domain. An empty domain subscribes "
        + "the address to itself, a domain subscribes it to that domain."
    };

    private readonly Option<bool> _skipInvalid = new("--skip-invalid")
    {
        Description = "Import the good lines of a file that has bad ones. Without it such a file is refused whole. Bad lines are listed by "
            + "number either way.",
    };

    public SubscribersImportCommand()
        : base("import", "Add subscriptions from a CSV file. Those that are there already stay as they are, and those that are "
            + "suppressed are passed over.")
    {
        Add(_file.AcceptExistingOnly());
        Add(_skipInvalid);
        Examples =
        [
            ("hibp subscribers import samples/subscribers.csv", "lines such as alice@example.com, or admin@example.com,example.com"),
            ("hibp subscribers import subscribers.csv --skip-invalid", "without the lines that hold no address or no domain"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
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
                + $"{(invalid.Count == 1 ? "is" : "are")} invalid, and nothing was imported; correct the file, or import the other lines "
                + "by --skip-invalid");
        }
        var imported = await ImportAsync(database, key, subscriptions, cancellationToken);
        var read = subscriptions.Count;
        session.Screen.ShowResult(
            new ImportDocument(read, imported.Added, imported.Suppressed, invalid), Documents.Default.ImportDocument,
            $"{TableFormat.Number(read)} subscriptions read, {TableFormat.Number(imported.Added)} of them new"
            + (imported.Suppressed > 0
                ? $", {TableFormat.Number(imported.Suppressed)} suppressed (unsubscribed, bounced, complained or forgotten)"
                : "")
            + (invalid.Count > 0 ? $"; {TableFormat.Number(invalid.Count)} invalid and not imported." : "."));
        return 0;
    }

    /// <summary>Reads a whole file (<see cref="SubscriberFile.Read"/>): nothing is imported before every line has been read.</summary>
    public static IReadOnlyList<Subscription> Read(string path, Action<long, string>? onBadLine = null)
    {
        using var file = File.OpenRead(path);
        return SubscriberFile.Read(file, onBadLine);
    }

    /// <summary>Imports subscriptions in transactions of bounded size; the demo uses it too.</summary>
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
    public SubscribersListCommand()
        : base("list", "List all subscriptions.")
    {
        Examples = [("hibp subscribers list", "by address")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var database = await session.OpenExistingDatabaseAsync(cancellationToken);
        return await ShowAsync(session, database, cancellationToken);
    }

    public static async Task<int> ShowAsync(CommandSession session, IBreachDatabase database, CancellationToken cancellationToken)
    {
        var suppressed = (await database.ListSuppressionsAsync(cancellationToken)).GroupBy(one => one.Reason).OrderBy(group => group.Key)
            .ToDictionary(group => group.Key.ToString().ToLowerInvariant(), group => group.Count());
        var subscriptions = await database.ListSubscribersAsync(cancellationToken).ToListAsync(cancellationToken);
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(
                new SubscribersDocument([.. subscriptions.Select(one => new SubscriberLine(one.Email, one.Domain))])
                {
                    Suppressed = suppressed,
                },
                Documents.Default.SubscribersDocument);
            return 0;
        }
        if (subscriptions.Count == 0)
        {
            session.Screen.Show("There is no subscription; hibp subscribers add ADDRESS adds one, and import CSV many.");
            ShowSuppressed();
            return 0;
        }
        Show(session.Screen, subscriptions);
        ShowSuppressed();
        return 0;

        void ShowSuppressed()
        {
            if (suppressed.Count > 0)
                session.Screen.Show($"Suppressed: {string.Join(", ", suppressed.Select(one => $"{one.Value} {one.Key}"))}.");
        }
    }

    internal static void Show(Screen screen, IReadOnlyList<Subscription> subscriptions)
    {
        var table = TableFormat.Create("subscriber", "told about");
        foreach (var subscription in subscriptions)
            table.AddRow(
                new Text(subscription.Email), new Text(
                    subscription.Domain is null ? "their own address" : $"domain {subscription.Domain}"));
        screen.Show(table);
    }
}
