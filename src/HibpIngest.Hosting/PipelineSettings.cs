using System.Collections;
using System.Globalization;
using HibpIngest.AzureStorage;
using HibpIngest.Errors;
using HibpIngest.Hosting.Local;
using HibpIngest.Pipeline;
using HibpIngest.Stores;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;

namespace HibpIngest.Hosting;

/// <summary>What this process is told by the command line and by environment variables that begin with HIBP_.</summary>
public sealed record PipelineSettings
{
    public const string DefaultStorage = "UseDevelopmentStorage=true";

    /// <summary>Variable of <see cref="SiteOptions.WebUrl"/>.</summary>
    public const string WebUrlVariable = "WEB_URL";

    private const string MailFromVariable = "MAIL_FROM";
    private const string LogStorageVariable = "LOG_STORAGE";
    private const string EmulatorPortVariable = "EMULATOR_PORT";
    private const string SecretKeyVariable = "SECRET_KEY";
    private const string SuppressionKeyVariable = "SUPPRESSION_KEY";
    private const string SecretKeyFile = "secret.key";
    private const string SuppressionKeyFile = "suppression.key";

    /// <summary>The variable that chose the app while both shared a package.</summary>
    private const string RetiredApp = HibpOptions.Prefix + "APP";

    /// <summary>Variables that are not properties of options.</summary>
    private static readonly string[] OwnVariables =
    [
        "STORAGE", LogStorageVariable, "DATABASE", "MAIL", SecretKeyVariable, SuppressionKeyVariable, "HOME",
        "EMULATOR_DIR", EmulatorPortVariable, "APPINSIGHTS", "LOG_FORMAT", "LOG_LEVEL", "SERVICE_NAME", "SERVICE_ADDRESS",
        "SERVICE_CONTACT", "SERVICE_LOGO", "TEMPLATES", "UNSUBSCRIBE_MAILTO", "DKIM_DOMAIN", "DKIM_SELECTOR", "DKIM_KEY",
    ];

    /// <summary>Of storage accounts behind the first, in their order.</summary>
    private static readonly string[] FurtherVariables = [.. Enumerable.Range(2, LayoutFacts.MaxStorageAccounts - 1)
        .Select(number => string.Create(CultureInfo.InvariantCulture, $"STORAGE_{number}"))];

    private readonly IServiceProvider _options = null!;

    /// <summary>The folder of <see cref="HomeFolder"/>.</summary>
    public required string Home { get; init; }

    /// <summary>The storage emulator, where it is meant; null: a storage account is.</summary>
    public LocalEmulator? Emulator { get; init; }

    /// <summary>Connection string of the storage account.</summary>
    public required string Storage { get; init; }

    /// <summary>Those of the store's storage accounts behind that, in their order: tables of layouts may lie in them.</summary>
    public IReadOnlyList<string> FurtherStorage { get; init; } = [];

    /// <summary>Connection string of the storage account of the account log, where it is another one; null: it is the same.</summary>
    public string? LogStorage { get; init; }

    /// <summary>File of the database, or its connection string.</summary>
    public required string Database { get; init; }

    /// <summary>File of the database where none is named.</summary>
    public string DefaultDatabase => DatabaseIn(Home);

    /// <summary>Full path of a folder of <see cref="Home"/>.</summary>
    public string FolderInHome(string name) => Path.GetFullPath(Path.Combine(Home, name));

    /// <summary>
    /// The key files of an installation on this machine, in <see cref="Home"/>, which stand in for keys that no variable gives; empty
    /// where a storage account is meant, since its other hosts don't have them.
    /// </summary>
    public IEnumerable<KeyFile> KeyFiles => Emulator is null ? [] : [KeyFileOf(SecretKeyFile), KeyFileOf(SuppressionKeyFile)];

    /// <summary>The keys that seal; null: there are none.</summary>
    /// <exception cref="BadInputException">HIBP_SECRET_KEY is no key.</exception>
    public SecretKeys? OpenSecretKeys() =>
        SecretKeys.Parse(SecretKey) ?? (Emulator is null ? null : SecretKeys.In(KeyFileOf(SecretKeyFile)));

    /// <summary>The key of suppressions; null: there is none.</summary>
    /// <exception cref="BadInputException">HIBP_SUPPRESSION_KEY is no key.</exception>
    public SuppressionKey? OpenSuppressionKey() =>
        HibpIngest.SuppressionKey.Parse(SuppressionKey)
        ?? (Emulator is null ? null : HibpIngest.SuppressionKey.In(KeyFileOf(SuppressionKeyFile)));

    public required string Mail { get; init; }

    /// <summary>Whose the mails are.</summary>
    public MailService Service { get; init; } = new();

    /// <summary>Seals archive passwords and what clients are called with, as <see cref="SecretKeys.Parse"/> reads it.</summary>
    public string? SecretKey { get; init; }

    /// <summary>What those who are not to be told are known by, as <see cref="HibpIngest.SuppressionKey.Parse"/> reads it.</summary>
    public string? SuppressionKey { get; init; }

    /// <summary>The HIBP_ variables without their prefix, which options are bound from.</summary>
    public required IConfiguration Variables
    {
        get;
        init
        {
            field = value;
            _options = new ServiceCollection().AddHibpOptions(value).BuildServiceProvider();
        }
    }

    /// <summary>Whether HIBP_WEB_URL is set; <see cref="SiteOptions.WebUrl"/> is a default otherwise.</summary>
    public bool NamesWebUrl => Variables[WebUrlVariable] is not null;

    /// <summary>Variables that begin with HIBP_ and mean nothing here, in order: most likely misspelt.</summary>
    public IReadOnlyList<string> UnknownVariables =>
    [
        .. Variables.AsEnumerable().Where(variable => variable.Value is not null).Select(variable => variable.Key)
            .Except(KnownKeys, StringComparer.OrdinalIgnoreCase).Select(NameOf).Order(StringComparer.Ordinal),
    ];

    private IEnumerable<object> AllOptions => _options.GetServices<IOptions<object>>().Select(options => options.Value);

    private IEnumerable<string> KnownKeys =>
        [.. AllOptions.SelectMany(options => OptionVariable.Of(options.GetType())).Select(option => option.Key), .. OwnVariables,
            .. FurtherVariables];

    /// <summary>Returns options of one class, bound and validated.</summary>
    public T Get<T>()
        where T : class => _options.GetRequiredService<IOptions<T>>().Value;

    /// <summary>Returns the settings with one variable set.</summary>
    /// <param name="variable">Its name without the prefix.</param>
    public PipelineSettings With(string variable, string value) => this with
    {
        Variables = new ConfigurationBuilder().AddConfiguration(Variables).AddInMemoryCollection([new(variable, value)]).Build(),
    };

    /// <summary>A sentence for each of <see cref="UnknownVariables"/>, with what may have been meant.</summary>
    public IEnumerable<string> DescribeUnknown()
    {
        var known = KnownKeys.Select(key => NameOf(key)[HibpOptions.Prefix.Length..]).Distinct().ToList();
        return UnknownVariables.Select(name =>
            name == RetiredApp ? $"{name} is no longer used: each of the two Functions apps has a package of its own" :
            Spelling.Nearest(name[HibpOptions.Prefix.Length..], known) is { } nearest
                ? $"{name} means nothing here; did you mean {HibpOptions.Prefix}{nearest}?"
                : $"{name} means nothing here; docs/settings.md has all that do");
    }

    /// <summary>Reads and checks them.</summary>
    /// <param name="storage">Of the command line; null: of the environment.</param>
    /// <param name="database">Of the command line; null: of the environment.</param>
    /// <param name="environment">The variables, whatever they begin with.</param>
    /// <param name="defaults">A host's own defaults, by variable without the prefix.</param>
    /// <param name="emulatorPort">Of the command line; null: of the environment.</param>
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
        var errors = new SettingsErrors();
        var home = HomeFolder.Find(values.GetValueOrDefault("HOME"));
        storage ??= values.GetValueOrDefault("STORAGE") ?? DefaultStorage;
        var port = emulatorPort?.ToString(CultureInfo.InvariantCulture) ?? values.GetValueOrDefault(EmulatorPortVariable);
        var emulator = LocalEmulator.IsMeantBy(storage) ? errors.Try(() => EmulatorOf(home, port)) : null;
        var settings = new PipelineSettings
        {
            Home = home,
            Emulator = emulator,
            Storage = emulator is null || emulator.IsAtWellKnownPorts ? storage : emulator.Connection,
            FurtherStorage = errors.Try(() => FurtherOf(values)) ?? [],
            LogStorage = values.GetValueOrDefault(LogStorageVariable),
            Database = database ?? values.GetValueOrDefault("DATABASE") ?? DatabaseIn(home),
            Mail = values.GetValueOrDefault("MAIL") ?? $"pickup:{Path.Combine(home, "mail")}",
            SecretKey = values.GetValueOrDefault(SecretKeyVariable),
            SuppressionKey = values.GetValueOrDefault(SuppressionKeyVariable),
            Service = errors.Try(() => new MailService
            {
                Name = values.GetValueOrDefault("SERVICE_NAME")?.Trim(),
                Address = values.GetValueOrDefault("SERVICE_ADDRESS")?.Trim(),
                Contact = values.GetValueOrDefault("SERVICE_CONTACT")?.Trim(),
                Logo = values.GetValueOrDefault("SERVICE_LOGO")?.Trim(),
                Templates = values.GetValueOrDefault("TEMPLATES")?.Trim(),
                Unsubscribe = values.GetValueOrDefault("UNSUBSCRIBE_MAILTO")?.Trim(),
                Signer = MailSigner.Parse(
                    values.GetValueOrDefault("DKIM_DOMAIN")?.Trim(), values.GetValueOrDefault("DKIM_SELECTOR")?.Trim(),
                    values.GetValueOrDefault("DKIM_KEY")?.Trim()),
            }.Check()) ?? new(),
            Variables = new ConfigurationBuilder().AddInMemoryCollection(values).Build(),
        };
        foreach (var options in settings._options.GetServices<IOptions<object>>())
            errors.Try(() => options.Value);
        if (settings.LogStorage is { } log)
            errors.Try(() => StorageAccount.Check(log, NameOf(LogStorageVariable)));
        foreach (var (variable, connection) in FurtherVariables.Zip(settings.FurtherStorage))
            errors.Try(() => StorageAccount.Check(connection, NameOf(variable)));
        // Several secret keys are a change of it, which keeps the old one.
        errors.Try(() => settings.CheckKeyFile(
            SecretKeyVariable, settings.SecretKey?.Split(',', StringSplitOptions.TrimEntries), SecretKeyFile));
        errors.Try(() => settings.CheckKeyFile(
            SuppressionKeyVariable, settings.SuppressionKey is { } given ? [given.Trim()] : null, SuppressionKeyFile));
        errors.ThrowIfAny();
        return settings;
    }

    private KeyFile KeyFileOf(string name) => new(Path.Combine(Home, name));

    /// <summary>A variable wins over the file; one that leaves the file's key out would lose what was made under it.</summary>
    private bool CheckKeyFile(string variable, string[]? given, string name)
    {
        if (given is null || Emulator is null || KeyFileOf(name) is not { } file || file.Read() is not { } kept || given.Contains(kept))
            return true;
        throw new BadInputException($"{NameOf(variable)} is not the key in {file.FilePath}, under which this installation works: unset "
            + "the variable, or set it to that key");
    }

    /// <summary>
    /// The options as name and value, for the log: none of them is a secret. The sender is an address, and
    /// stays out of logs.
    /// </summary>
    public string Describe() => string.Join(", ",
        from options in AllOptions.Where(options => options.GetType().Assembly == typeof(SiteOptions).Assembly)
        from option in OptionVariable.Of(options.GetType())
        where option.Key != MailFromVariable
        let value = option.Get(options) is bool isOn ? isOn ? "on" : "off" : option.Get(options)
        select string.Create(CultureInfo.InvariantCulture, $"{option.Name}={value}"));

    /// <summary>Returns the name of a variable by its key in <see cref="Variables"/>.</summary>
    internal static string NameOf(string key) =>
        HibpOptions.Prefix + key.Replace(":", "__", StringComparison.Ordinal).ToUpperInvariant();

    private static string DatabaseIn(string home) => Path.Combine(home, "hibp.db");

    private static LocalEmulator EmulatorOf(string home, string? port)
    {
        if (port is null)
            return new LocalEmulator(home);
        return int.TryParse(port, CultureInfo.InvariantCulture, out var number)
            && number is > 0 and <= LocalEmulator.HighestPort
            ? new LocalEmulator(home, number)
            : throw new BadInputException($"{NameOf(EmulatorPortVariable)} is expected to be from 1 to {LocalEmulator.HighestPort}, "
                + $"the first of the emulator's ports, found '{port}'");
    }

    /// <summary>None may be left out: their order counts.</summary>
    private static IReadOnlyList<string> FurtherOf(Dictionary<string, string?> values)
    {
        var given = FurtherVariables.Select(variable => values.GetValueOrDefault(variable)).ToList();
        var count = given.FindLastIndex(value => value is not null) + 1;
        var missing = given.FindIndex(0, count, value => value is null);
        return missing < 0 ? [.. given.Take(count).Select(value => value!)]
            : throw new BadInputException(
                $"{NameOf(FurtherVariables[missing])} is expected where {NameOf(FurtherVariables[count - 1])} is set: the storage "
                + "accounts of a store have an order");
    }
}
