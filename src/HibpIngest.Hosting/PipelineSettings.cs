using System.Collections;
using HibpIngest.Api.Settings;
using HibpIngest.Delivery;
using HibpIngest.Pipeline.Mail;
using Microsoft.Extensions.Configuration;

namespace HibpIngest.Hosting;

/// <summary>The settings of this process, from the command line and from environment variables that begin with HIBP_.</summary>
public sealed record PipelineSettings
{
    public const string DefaultStorage = "UseDevelopmentStorage=true";

    /// <summary>Variable of <see cref="SiteOptions.WebUrl"/>, without the prefix.</summary>
    public const string WebUrlVariable = "WEB_URL";

    private const string MailFromVariable = "MAIL_FROM";
    private const string JournalStorageVariable = "JOURNAL_STORAGE";
    private const string EmulatorPortVariable = "EMULATOR_PORT";
    private const string SecretKeyVariable = "SECRET_KEY";
    private const string SuppressionKeyVariable = "SUPPRESSION_KEY";
    private const string SecretKeyFile = "secret.key";
    private const string SuppressionKeyFile = "suppression.key";
    private const string CommandKeyVariable = "COMMAND_KEY";
    private const string CommandKeyFile = "command.key";
    private const string DnsVariable = "DNS";
    private const string LinkKeysVariable = "LINK_KEYS";
    private const string LinkKeyFile = "link.key";

    /// <summary>A retired variable: it selected the app when both Functions apps shared a package.</summary>
    private const string RetiredAppVariable = "APP";

    /// <summary>Former names, which are still accepted, and the current ones.</summary>
    private static readonly Dictionary<string, string> RenamedVariables =
        new(StringComparer.OrdinalIgnoreCase) { ["LOG"] = "JOURNAL", ["LOG_STORAGE"] = JournalStorageVariable };

    private static readonly string[] VariablesOutsideOptions =
    [
        "STORAGE", JournalStorageVariable, "DATABASE", "MAIL", SecretKeyVariable, SuppressionKeyVariable, CommandKeyVariable, DnsVariable,
        "HOME",
        "EMULATOR_DIR", EmulatorPortVariable, "APPINSIGHTS", "LOG_FORMAT", "LOG_LEVEL", "SERVICE_NAME", "SERVICE_ADDRESS",
        "SERVICE_CONTACT", "SERVICE_LOGO", "TEMPLATES", "UNSUBSCRIBE_MAILTO", "DKIM_DOMAIN", "DKIM_SELECTOR", "DKIM_KEY",
    ];

    private static readonly string[] AdditionalStorageVariables = [.. Enumerable.Range(2, LayoutFacts.MaxStorageAccounts - 1)
        .Select(number => string.Create(CultureInfo.InvariantCulture, $"STORAGE_{number}"))];

    private readonly IServiceProvider _options = null!;

    public required string Home { get; init; }

    /// <summary>Null: the connection string names a storage account.</summary>
    public LocalEmulator? Emulator { get; init; }

    public required string Storage { get; init; }

    /// <summary>Connection strings of the store's further storage accounts, in their order; they may hold tables of layouts.</summary>
    public IReadOnlyList<string> AdditionalStorage { get; init; } = [];

    /// <summary>Connection string of the journal's storage account. If null, the same as <see cref="Storage"/>.</summary>
    public string? JournalStorage { get; init; }

    /// <summary>A file path or a connection string.</summary>
    public required string Database { get; init; }

    public string DefaultDatabase => DatabaseIn(Home);

    /// <summary>Files of keys that no variable sets. Empty with a storage account, because its other hosts lack these files.</summary>
    public IEnumerable<KeyFile> KeyFiles => Emulator is null ? []
        : [KeyFileOf(SecretKeyFile), KeyFileOf(SuppressionKeyFile), KeyFileOf(LinkKeyFile), KeyFileOf(CommandKeyFile)];

    public required string Mail { get; init; }

    /// <summary>The service that mails name as their sender.</summary>
    public MailService Service { get; init; } = new();

    /// <summary>Encrypts archive passwords and callback secrets; format of <see cref="SecretKeys.Parse"/>.</summary>
    public string? SecretKey { get; init; }

    /// <summary>Keys the hashes of suppressed addresses; format of <see cref="HibpIngest.SuppressionKey.Parse"/>.</summary>
    public string? SuppressionKey { get; init; }

    /// <summary>Decrypts what people request on the pages; format of <see cref="HibpIngest.CommandKey.Parse"/>.</summary>
    public string? CommandKey { get; init; }

    /// <summary>The DNS server to ask; format of <see cref="DomainRecords.Parse"/>. If null, those of this machine.</summary>
    public string? Dns => Variables[DnsVariable];

    /// <summary>The HIBP_ variables without their prefix; options are bound from them.</summary>
    public required IConfiguration Variables
    {
        get;
        init
        {
            field = value;
            _options = new ServiceCollection().AddHibpOptions(value).BuildServiceProvider();
        }
    }

    /// <summary>True if HIBP_WEB_URL is set; otherwise <see cref="SiteOptions.WebUrl"/> is a default.</summary>
    public bool HasWebUrl => Variables[WebUrlVariable] is not null;

    /// <summary>Variables that begin with HIBP_ but are unknown (most likely misspelt), retired or renamed, sorted by name.</summary>
    public IReadOnlyList<string> UnknownVariables =>
    [
        .. Variables.AsEnumerable().Where(variable => variable.Value is not null).Select(variable => variable.Key)
            .Except(KnownKeys, StringComparer.OrdinalIgnoreCase).Select(NameOf).Order(StringComparer.Ordinal),
    ];

    private IEnumerable<object> AllOptions => _options.GetServices<IOptions<object>>().Select(options => options.Value);

    private IEnumerable<string> KnownKeys =>
        [.. AllOptions.SelectMany(options => OptionVariable.Of(options.GetType())).Select(option => option.Key), .. VariablesOutsideOptions,
            .. AdditionalStorageVariables];

    public T Get<T>()
        where T : class => _options.GetRequiredService<IOptions<T>>().Value;

    public string FolderInHome(string name) => Path.GetFullPath(Path.Combine(Home, name));

    /// <returns>Null if there is no key.</returns>
    /// <exception cref="BadInputException">HIBP_SECRET_KEY is not a valid key.</exception>
    public SecretKeys? OpenSecretKeys() =>
        SecretKeys.Parse(SecretKey) ?? (Emulator is null ? null : SecretKeys.In(KeyFileOf(SecretKeyFile)));

    /// <returns>Null if there is no key.</returns>
    /// <exception cref="BadInputException">HIBP_SUPPRESSION_KEY is not a valid key.</exception>
    public SuppressionKey? OpenSuppressionKey() =>
        HibpIngest.SuppressionKey.Parse(SuppressionKey)
        ?? (Emulator is null ? null : HibpIngest.SuppressionKey.In(KeyFileOf(SuppressionKeyFile)));

    /// <returns>Null if there is no key: mails then have no links, and no pages are served.</returns>
    /// <exception cref="BadInputException">HIBP_LINK_KEYS is not a list of keys.</exception>
    public LinkTokens? OpenLinkKeys() =>
        LinkTokens.Parse(Variables[LinkKeysVariable]) ?? (Emulator is null ? null : LinkTokens.In(KeyFileOf(LinkKeyFile)));

    /// <returns>Null if there is no key.</returns>
    /// <exception cref="BadInputException">HIBP_COMMAND_KEY is not a valid key.</exception>
    public CommandKey? OpenCommandKey() =>
        HibpIngest.CommandKey.Parse(CommandKey) ?? (Emulator is null ? null : HibpIngest.CommandKey.In(KeyFileOf(CommandKeyFile)));

    /// <summary>Sets the web's missing keys from key files, which are created if missing. Does nothing with a storage account.</summary>
    public void SetMissingKeys(WebOptions web)
    {
        if (Emulator is null)
            return;
        web.LinkKeys ??= KeyFileOf(LinkKeyFile).ReadOrCreate();
        web.CommandPublicKey ??= OpenCommandKey()!.PublicKey;
    }

    public InstallationKeys OpenKeys() => new(OpenSecretKeys(), OpenSuppressionKey(), OpenLinkKeys(), OpenCommandKey());

    /// <exception cref="BadInputException">The sender, the logo or a template is invalid, or can't be read.</exception>
    public MailComposer CreateMailComposer() => new(Get<MailOptions>().MailFrom, Service);

    /// <summary>Returns the settings with another value of an option. Stores, mail, keys and service stay as they are.</summary>
    /// <param name="variable">Name without the prefix.</param>
    public PipelineSettings WithOption(string variable, string value) => this with
    {
        Variables = new ConfigurationBuilder().AddConfiguration(Variables).AddInMemoryCollection([new(variable, value)]).Build(),
    };

    /// <summary>Returns a sentence for each of <see cref="UnknownVariables"/>, with its current name or the nearest known one.</summary>
    public IEnumerable<string> DescribeUnknown()
    {
        var known = KnownKeys.Select(key => NameOf(key)[HibpOptions.Prefix.Length..]).Distinct().ToList();
        return UnknownVariables.Select(name => name[HibpOptions.Prefix.Length..] switch
        {
            RetiredAppVariable => $"{name} is no longer used: each of the two Functions apps has its own package",
            var key when RenamedVariables.TryGetValue(key, out var present) => $"{name} is now called {NameOf(present)}",
            var key when Spelling.Nearest(key, known) is { } nearest =>
                $"{name} is not a setting; did you mean {HibpOptions.Prefix}{nearest}?",
            _ => $"{name} is not a setting; docs/settings.md lists all settings",
        });
    }

    /// <param name="storage">The command line's value. If null, the environment's; so too the database and the port.</param>
    /// <param name="environment">All environment variables; those without the prefix are ignored.</param>
    /// <param name="defaults">The host's own defaults, by variable without the prefix.</param>
    /// <exception cref="WrongSettingsException">Values are wrong; each message names the variable.</exception>
    public static PipelineSettings Read(
        string? storage, string? database, IDictionary environment, Dictionary<string, string?>? defaults = null, int? emulatorPort = null)
    {
        var values = new Dictionary<string, string?>(defaults ?? [], StringComparer.OrdinalIgnoreCase);
        foreach (DictionaryEntry variable in environment)
        {
            var name = (string)variable.Key;
            if (name.StartsWith(HibpOptions.Prefix, StringComparison.OrdinalIgnoreCase)
                && !string.IsNullOrWhiteSpace((string?)variable.Value))
                values[name[HibpOptions.Prefix.Length..].Replace("__", ":", StringComparison.Ordinal)] = (string?)variable.Value;
        }
        foreach (var (former, present) in RenamedVariables)
        {
            if (values.TryGetValue(former, out var value))
                values.TryAdd(present, value);
        }
        var errors = new SettingsErrors();
        var home = HomeFolder.Find(values.GetValueOrDefault("HOME"));
        storage ??= values.GetValueOrDefault("STORAGE") ?? DefaultStorage;
        var port = emulatorPort?.ToString(CultureInfo.InvariantCulture) ?? values.GetValueOrDefault(EmulatorPortVariable);
        var emulator = LocalEmulator.Matches(storage) ? errors.Try(() => EmulatorOf(home, port)) : null;
        var settings = new PipelineSettings
        {
            Home = home,
            Emulator = emulator,
            Storage = emulator is null || emulator.IsAtWellKnownPorts ? storage : emulator.Connection,
            AdditionalStorage = errors.Try(() => AdditionalStorageOf(values)) ?? [],
            JournalStorage = values.GetValueOrDefault(JournalStorageVariable),
            Database = database ?? values.GetValueOrDefault("DATABASE") ?? DatabaseIn(home),
            Mail = values.GetValueOrDefault("MAIL") ?? $"pickup:{Path.Combine(home, "mail")}",
            SecretKey = values.GetValueOrDefault(SecretKeyVariable),
            SuppressionKey = values.GetValueOrDefault(SuppressionKeyVariable),
            CommandKey = values.GetValueOrDefault(CommandKeyVariable),
            Service = errors.Try(() => ServiceOf(variable => values.GetValueOrDefault(variable)?.Trim())) ?? new(),
            Variables = new ConfigurationBuilder().AddInMemoryCollection(values).Build(),
        };
        foreach (var options in settings._options.GetServices<IOptions<object>>())
            errors.Try(() => options.Value);
        if (settings.Dns is { } dns)
            errors.Try(() => DomainRecords.Parse(dns));
        if (settings.JournalStorage is { } journal)
            errors.Try(() => StorageAccount.Check(journal, NameOf(JournalStorageVariable)));
        foreach (var (variable, connection) in AdditionalStorageVariables.Zip(settings.AdditionalStorage))
            errors.Try(() => StorageAccount.Check(connection, NameOf(variable)));
        // A variable with several keys rotates them, and includes the file's key. The command key isn't checked: it encrypts only requests
        // that expire within days, and that people can make again.
        errors.Try(() => settings.CheckKeyFile(
            SecretKeyVariable, settings.SecretKey?.Split(',', StringSplitOptions.TrimEntries), SecretKeyFile));
        errors.Try(() => settings.CheckKeyFile(
            SuppressionKeyVariable, settings.SuppressionKey is { } given ? [given.Trim()] : null, SuppressionKeyFile));
        errors.Try(() => settings.CheckKeyFile(
            LinkKeysVariable, settings.Variables[LinkKeysVariable]?.Split(',', StringSplitOptions.TrimEntries), LinkKeyFile));
        errors.ThrowIfAny();
        return settings;
    }

    /// <summary>
    /// Returns the pipeline's options for the log, without those of the web, some of which are secret, and HIBP_MAIL_FROM, which is an
    /// address.
    /// </summary>
    public string Describe() => string.Join(", ",
        from options in AllOptions.Where(options => options.GetType().Assembly == typeof(SiteOptions).Assembly)
        from option in OptionVariable.Of(options.GetType())
        where option.Key != MailFromVariable
        let value = option.Get(options) is bool isOn ? isOn ? "on" : "off" : option.Get(options)
        select string.Create(CultureInfo.InvariantCulture, $"{option.Name}={value}"));

    internal static string NameOf(string key) =>
        HibpOptions.Prefix + key.Replace(":", "__", StringComparison.Ordinal).ToUpperInvariant();

    private static string DatabaseIn(string home) => Path.Combine(home, "hibp.db");

    private KeyFile KeyFileOf(string name) => new(Path.Combine(Home, name));

    /// <summary>
    /// Checks that a variable, which overrides the file, includes the file's key: otherwise what is encrypted or hashed with that key
    /// becomes unusable.
    /// </summary>
    /// <returns>Always true; for <see cref="SettingsErrors"/>.</returns>
    private bool CheckKeyFile(string variable, string[]? given, string name)
    {
        var file = KeyFileOf(name);
        if (given is null || Emulator is null || file.Read() is not { } key || given.Contains(key))
            return true;
        throw new BadInputException($"{NameOf(variable)} differs from the key in {file.FilePath}, which this installation uses: unset "
            + "the variable, or set it to that key");
    }

    private static MailService ServiceOf(Func<string, string?> read) => new MailService
    {
        Name = read("SERVICE_NAME"),
        Address = read("SERVICE_ADDRESS"),
        Contact = read("SERVICE_CONTACT"),
        Logo = read("SERVICE_LOGO"),
        Templates = read("TEMPLATES"),
        Unsubscribe = read("UNSUBSCRIBE_MAILTO"),
        Signer = MailSigner.Parse(read("DKIM_DOMAIN"), read("DKIM_SELECTOR"), read("DKIM_KEY")),
    }.Check();

    private static LocalEmulator EmulatorOf(string home, string? port)
    {
        if (port is null)
            return new LocalEmulator(home);
        return int.TryParse(port, CultureInfo.InvariantCulture, out var number)
            && number is > 0 and <= LocalEmulator.HighestPort
            ? new LocalEmulator(home, number)
            : throw new BadInputException($"{NameOf(EmulatorPortVariable)}: expected a port from 1 to {LocalEmulator.HighestPort} "
                + $"(the emulator also uses the next two), found '{port}'");
    }

    private static IReadOnlyList<string> AdditionalStorageOf(Dictionary<string, string?> values)
    {
        var given = AdditionalStorageVariables.Select(variable => values.GetValueOrDefault(variable)).ToList();
        var count = given.FindLastIndex(value => value is not null) + 1;
        var missing = given.FindIndex(0, count, value => value is null);
        return missing < 0 ? [.. given.Take(count).Select(value => value!)]
            : throw new BadInputException(
                $"{NameOf(AdditionalStorageVariables[missing])} is expected if {NameOf(AdditionalStorageVariables[count - 1])} is set: "
                + "storage accounts are numbered without gaps");
    }
}
