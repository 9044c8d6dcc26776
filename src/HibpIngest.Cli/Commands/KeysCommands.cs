namespace HibpIngest.Cli.Commands;

internal sealed class KeysCreateCommand : HibpCommand
{
    private readonly Argument<string> _name = new("NAME") { Description = "Name of the key's owner; unique." };
    private readonly Option<int> _rpm = new("--rpm")
    {
        Description = "Maximum requests a minute, for each server instance.",
        HelpName = "N",
        DefaultValueFactory = _ => ApiKey.DefaultRpm,
    };
    private readonly Option<string> _scope = new("--scope")
    {
        Description = "Scopes, separated by commas: search, range, domains, append; verify lets its owner add domains by a DNS record or a "
            + "mail.",
        HelpName = "SCOPES",
        DefaultValueFactory = _ => "search",
    };
    private readonly Option<string[]> _domains = new("--domain")
    {
        Description = "A domain whose accounts the key may list. Verify first that the domain belongs to the key's owner. May be given "
            + "several times.",
        HelpName = "DOMAIN",
    };

    public KeysCreateCommand()
        : base("create", "Create an API key. It is printed once: the store has only its hash.")
    {
        Add(_name, _rpm, _scope, _domains);
        AddExamples(
            ("hibp keys create website --rpm 6000", "lookups of single accounts, 100 a second"),
            ("hibp keys create monitor --scope search,range", "also ranges by hash prefix"),
            ("hibp keys create acme --scope domains --domain acme.com", "all accounts of a domain, for its owner"),
            ("hibp keys create acme --scope verify", "its owner adds domains by proving them (docs/api.md)"),
            ("hibp keys create ci --json", "as JSON: {\"key\"}"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var text = RandomNumberGenerator.GetHexString(ApiKey.Digits, lowercase: true);
        var key = Describe(session, ApiKey.HashOf(text));
        using var account = await session.OpenAccountAsync(cancellationToken);
        await account.Keys.CreateAsync(cancellationToken);
        if (await KeyNames.FindAsync(account.Keys, key.Name, cancellationToken) is not null)
            throw new NotPossibleException(
                $"there is a key '{key.Name}' already: choose another name, or run 'hibp keys revoke {key.Name}' first");
        if (!await account.Keys.AddAsync(key, cancellationToken))
            throw new NotPossibleException("a key with the same hash exists already: run the command again to generate another");
        if (session.Screen.TryShowJson(() => new KeyDocument(text)))
            return;
        session.Screen.Show(text);
        session.Screen.Say("This is the only time it is shown. Send it as the header hibp-api-key.");
    }

    private ApiKey Describe(CommandSession session, string hash)
    {
        var name = session.Parsed.GetRequiredValue(_name).Trim();
        if (!ApiKey.IsName(name))
            throw new BadInputException($"key name: expected 1 to {ApiKey.MaxNameLength} characters, and no email address");
        var rpm = session.Parsed.GetValue(_rpm);
        if (rpm is < 1 or > ApiKey.MaxRpm)
            throw new BadInputException($"--rpm: expected 1 to {ApiKey.MaxRpm}, found {rpm}");
        var scopes = ParseScopes(session.Parsed.GetRequiredValue(_scope));
        var domains = (session.Parsed.GetValue(_domains) ?? []).Select(ParseDomain).Distinct().Order(StringComparer.Ordinal).ToList();
        if (domains.Count > 0 != scopes.HasFlag(KeyScopes.Domains))
            throw new BadInputException(domains.Count > 0
                ? "--domain requires --scope domains" : "--scope domains requires --domain DOMAIN");
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
            scopes |= EnumNames.TryParse(name, out KeyScopes scope) && scope != KeyScopes.None
                ? scope : throw new BadInputException($"--scope: expected search, range, domains, append or verify, found '{name}'");
        }
        return scopes == KeyScopes.None
            ? throw new BadInputException("--scope: expected one or more of search, range, domains, append, verify, found none") : scopes;
    }

    private static string ParseDomain(string text) => AccountRules.TryParseDomain(text, out var domain, out _)
        ? domain : throw new BadInputException($"--domain: expected a domain, such as example.com, found '{text}'");
}

internal sealed class KeysListCommand : HibpCommand
{
    public KeysListCommand()
        : base("list", "List the API keys with their rates and scopes.") =>
        AddExamples(("hibp keys list", "who may call the API, and how often"));

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        using var account = await session.OpenAccountAsync(cancellationToken);
        var keys = await account.Keys.ListAsync(cancellationToken);
        if (session.Screen.TryShowJson(() => new KeyListDocument([.. keys.Select(key => new KeyListItem(
            key.Name, key.Hash, key.Rpm, Scopes(key), key.Domains, key.CreatedAt))])))
            return;
        var table = TableFormat.Create("name", "a minute", "may", "domains", "since").AlignRight(1).AddRows(keys, key =>
        [
            key.Name, TableFormat.Number(key.Rpm), string.Join(", ", Scopes(key)), string.Join(", ", key.Domains),
            TableFormat.Date(DateOnly.FromDateTime(key.CreatedAt.UtcDateTime)),
        ]);
        session.Screen.Show(table, ifEmpty: "There are no keys; 'hibp keys create NAME' creates one.");
    }

    private static string[] Scopes(ApiKey key) =>
        [.. Enum.GetValues<KeyScopes>().Where(scope => scope != KeyScopes.None && key.Scopes.HasFlag(scope))
            .Select(scope => scope.ToString().ToLowerInvariant())];
}

/// <summary>API keys by the names of their owners, whose case doesn't matter.</summary>
internal static class KeyNames
{
    public static async Task<ApiKey?> FindAsync(IApiKeys keys, string name, CancellationToken cancellationToken) =>
        (await keys.ListAsync(cancellationToken)).FirstOrDefault(one => one.Name.Equals(name, StringComparison.OrdinalIgnoreCase));

    public static NotPossibleException Unknown(string name) => new($"there is no key '{name}'; 'hibp keys list' lists all keys");
}

internal sealed class KeysRevokeCommand : HibpCommand
{
    private readonly Argument<string> _name = new("NAME") { Description = "Name of the key." };

    public KeysRevokeCommand()
        : base("revoke", "Revoke an API key. Takes effect within 10 seconds.")
    {
        Add(_name);
        AddExamples(("hibp keys revoke website", "revokes the key named website"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        using var account = await session.OpenAccountAsync(cancellationToken);
        var name = session.Parsed.GetRequiredValue(_name);
        var key = await KeyNames.FindAsync(account.Keys, name, cancellationToken);
        if (key is null || !await account.Keys.RemoveAsync(key.Hash, cancellationToken))
            throw KeyNames.Unknown(name);
        session.Screen.ShowResult(new KeyRevokedDocument(key.Name),
            $"{key.Name} is revoked; servers refuse it within 10 seconds.");
    }
}
