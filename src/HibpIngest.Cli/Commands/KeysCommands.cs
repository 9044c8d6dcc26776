using System.Security.Cryptography;

namespace HibpIngest.Cli.Commands;

internal sealed class KeysCommands() : CommandGroup(
    "keys", "Say who may ask the API.", new KeysCreateCommand(), new KeysListCommand(), new KeysRevokeCommand());

internal sealed class KeysCreateCommand : HibpCommand
{
    private readonly Argument<string> _name = new("NAME") { Description = "Whose it is, as you want to know it; unique." };
    private readonly Option<int> _rpm = new("--rpm")
    {
        Description = "Requests a minute, of each instance that answers.",
        HelpName = "N",
        DefaultValueFactory = _ => ApiKey.DefaultRpm,
    };
    private readonly Option<string> _scope = new("--scope")
    {
        Description = "What it may ask, of search, range, domains and append, with commas between.",
        HelpName = "SCOPES",
        DefaultValueFactory = _ => "search",
    };
    private readonly Option<string[]> _domains = new("--domain")
    {
        Description = "A domain whose accounts it may list; you have verified that it is its owner's. May be given again.",
        HelpName = "D",
    };

    public KeysCreateCommand()
        : base("create", "Make a key. It is printed once, and kept nowhere: the store has its hash.")
    {
        Add(_name);
        Add(_rpm);
        Add(_scope);
        Add(_domains);
        Examples =
        [
            ("hibp keys create website --rpm 6000", "a key for looking single accounts up, 100 a second"),
            ("hibp keys create monitor --scope search,range", "hashes by range too"),
            ("hibp keys create acme --scope domains --domain acme.com", "all accounts of a domain, for its owner"),
            ("hibp keys create ci --json", "the same for a program: {\"key\"}"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var text = RandomNumberGenerator.GetHexString(ApiKey.Digits, lowercase: true);
        var key = Describe(session, ApiKey.HashOf(text));
        using var account = await session.OpenAccountAsync(cancellationToken);
        await account.Keys.CreateAsync(cancellationToken);
        if ((await account.Keys.ListAsync(cancellationToken)).Any(one => one.Name.Equals(key.Name, StringComparison.OrdinalIgnoreCase)))
            throw new NotPossibleException(
                $"there is a key '{key.Name}' already: take another name, or 'hibp keys revoke {key.Name}' first");
        if (!await account.Keys.AddAsync(key, cancellationToken))
            throw new NotPossibleException("the key was not added: try again");
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(new KeyDocument(text), Documents.Default.KeyDocument);
            return 0;
        }
        session.Screen.Show(text);
        session.Screen.Say("This is the only time it is shown. Send it as the header hibp-api-key.");
        return 0;
    }

    private ApiKey Describe(CommandSession session, string hash)
    {
        var name = session.Parsed.GetRequiredValue(_name).Trim();
        if (!ApiKey.IsName(name))
            throw new BadInputException($"a key's name is expected to be 1 to {ApiKey.MaxNameLength} characters, and no email address");
        var rpm = session.Parsed.GetValue(_rpm);
        if (rpm is < 1 or > ApiKey.MaxRpm)
            throw new BadInputException($"--rpm is expected to be from 1 to {ApiKey.MaxRpm}, found {rpm}");
        var scopes = ParseScopes(session.Parsed.GetRequiredValue(_scope));
        var domains = (session.Parsed.GetValue(_domains) ?? []).Select(ParseDomain).Distinct().Order(StringComparer.Ordinal).ToList();
        if (domains.Count > 0 != scopes.HasFlag(KeyScopes.Domains))
            throw new BadInputException(domains.Count > 0
                ? "--domain says something only with --scope domains" : "--scope domains needs the domains: --domain D");
        return new ApiKey
        {
            Hash = hash,
            Name = name,
            Rpm = rpm,
            Scopes = scopes,
            Domains = domains,
            CreatedAt = session.Time.GetUtcNow(),
        };
    }

    private static KeyScopes ParseScopes(string text)
    {
        var scopes = KeyScopes.None;
        foreach (var name in text.Split(',', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries))
        {
            scopes |= Enum.GetValues<KeyScopes>().FirstOrDefault(
                one => one != KeyScopes.None
                && one.ToString().Equals(name, StringComparison.OrdinalIgnoreCase)) is var scope and not KeyScopes.None
                ? scope : throw new BadInputException($"'{name}' is no scope: search, range, domains, append");
        }
        return scopes == KeyScopes.None ? throw new BadInputException("--scope names none: search, range, domains, append") : scopes;
    }

    private static string ParseDomain(string text) => AccountRules.TryParseDomain(text, out var domain, out _)
        ? domain : throw new BadInputException($"'{text}' is no domain that accounts are at");
}

internal sealed class KeysListCommand : HibpCommand
{
    public KeysListCommand()
        : base("list", "Show the keys: names, rates and scopes.") =>
        Examples = [("hibp keys list", "who may ask, and how often")];

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        using var account = await session.OpenAccountAsync(cancellationToken);
        var keys = await account.Keys.ListAsync(cancellationToken);
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(
                new KeyListDocument([.. keys.Select(key => new KeyListItem(
                    key.Name, key.Hash, key.Rpm, Scopes(key), key.Domains, key.CreatedAt))]),
                Documents.Default.KeyListDocument);
            return 0;
        }
        if (keys.Count == 0)
        {
            session.Screen.Show("There are no keys; 'hibp keys create NAME' makes one.");
            return 0;
        }
        var table = TableFormat.Create("name", "a minute", "may", "domains", "since");
        table.Columns[1].RightAligned();
        foreach (var key in keys)
        {
            table.AddRow(
                new Text(key.Name), new Text(TableFormat.Number(key.Rpm)), new Text(string.Join(", ", Scopes(key))),
                new Text(string.Join(", ", key.Domains)), new Text(TableFormat.Date(DateOnly.FromDateTime(key.CreatedAt.UtcDateTime))));
        }
        session.Screen.Show(table);
        return 0;
    }

    private static string[] Scopes(ApiKey key) =>
        [.. Enum.GetValues<KeyScopes>().Where(scope => scope != KeyScopes.None && key.Scopes.HasFlag(scope))
            .Select(scope => scope.ToString().ToLowerInvariant())];
}

internal sealed class KeysRevokeCommand : HibpCommand
{
    private readonly Argument<string> _name = new("NAME") { Description = "Name of the key." };

    public KeysRevokeCommand()
        : base("revoke", "Take a key away. Whoever has it is refused within 10 seconds.")
    {
        Add(_name);
        Examples = [("hibp keys revoke website", "it is out")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        using var account = await session.OpenAccountAsync(cancellationToken);
        var name = session.Parsed.GetRequiredValue(_name);
        var key = (await account.Keys.ListAsync(cancellationToken))
            .FirstOrDefault(one => one.Name.Equals(name, StringComparison.OrdinalIgnoreCase));
        if (key is null || !await account.Keys.RemoveAsync(key.Hash, cancellationToken))
            throw new NotPossibleException($"there is no key '{name}'; hibp keys list shows those there are");
        session.Screen.ShowResult(
            new KeyRevokedDocument(key.Name), Documents.Default.KeyRevokedDocument,
            $"{key.Name} is revoked; servers that know it refuse it within 10 seconds.");
        return 0;
    }
}
