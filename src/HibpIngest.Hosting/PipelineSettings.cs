using System.Collections;
using System.ComponentModel.DataAnnotations;
using System.Globalization;
using HibpIngest.Archives;
using HibpIngest.AzureStorage;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Hosting.Local;
using HibpIngest.Passwords;
using HibpIngest.Pipeline;
using HibpIngest.Stores;
using HibpIngest.Web;
using Microsoft.Extensions.Configuration;

namespace HibpIngest.Hosting;

/// <summary>What this process is told by the command line and by environment variables that begin with HIBP_.</summary>
public sealed record PipelineSettings
{
    public const string DefaultStorage = "UseDevelopmentStorage=true";

    private const string MailFromVariable = "MAIL_FROM";
    private const string LogStorageVariable = "LOG_STORAGE";
    private const string WebUrlVariable = "WEB_URL";
    private const string EmulatorPortVariable = "EMULATOR_PORT";
    private const string SecretKeyVariable = "SECRET_KEY";
    private const string SuppressionKeyVariable = "SUPPRESSION_KEY";
    private const string SecretKeyFile = "secret.key";
    private const string SuppressionKeyFile = "suppression.key";

    /// <summary>The variable that chose the app while both shared a package.</summary>
    private const string RetiredApp = PipelineOptions.SectionName + "APP";

    /// <summary>Options whose variables are not named as they are.</summary>
    private static readonly Dictionary<string, string> NamedApart = new()
    {
        [nameof(PipelineOptions.MailFrom)] = MailFromVariable,
        [nameof(PipelineOptions.WebUrl)] = WebUrlVariable,
        [nameof(PasswordOptions.PasswordsMaxAge)] = "PASSWORDS_MAXAGE",
        [nameof(PasswordOptions.PasswordsCache)] = "PASSWORDS_CACHE",
        [nameof(PasswordOptions.PasswordsReplicas)] = "PASSWORDS_REPLICAS",
        [nameof(PasswordOptions.PasswordsNearest)] = "PASSWORDS_NEAREST",
        [nameof(PasswordOptions.PasswordsNearestTimeout)] = "PASSWORDS_NEAREST_TIMEOUT",
        [nameof(WebOptions.AccessLogBuffer)] = "ACCESSLOG_BUFFER",
        [nameof(PipelineOptions.AccessLogDays)] = "ACCESSLOG_DAYS",
        [nameof(PasswordOptions.PurgeUrl)] = "PURGE_URL",
        [nameof(PasswordOptions.PurgeToken)] = "PURGE_TOKEN",
    };

    /// <summary>Variables that are not properties of options.</summary>
    private static readonly string[] OwnVariables =
    [
        "STORAGE", LogStorageVariable, "DATABASE", "MAIL", .. NamedApart.Values, SecretKeyVariable, SuppressionKeyVariable, "HOME",
        "EMULATOR_DIR", EmulatorPortVariable, "APPINSIGHTS", "LOG_FORMAT", "LOG_LEVEL", "SERVICE_NAME", "SERVICE_ADDRESS",
        "SERVICE_CONTACT", "SERVICE_LOGO", "TEMPLATES", "UNSUBSCRIBE_MAILTO", "DKIM_DOMAIN", "DKIM_SELECTOR", "DKIM_KEY",
    ];

    /// <summary>Of storage accounts behind the first, in their order.</summary>
    private static readonly string[] FurtherVariables = [.. Enumerable.Range(2, LayoutFacts.MaxStorageAccounts - 1)
        .Select(number => string.Create(CultureInfo.InvariantCulture, $"STORAGE_{number}"))];

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

    public required PipelineOptions Options { get; init; }

    /// <summary>Whether HIBP_WEB_URL is set; <see cref="PipelineOptions.WebUrl"/> is a default otherwise.</summary>
    public bool NamesWebUrl { get; init; }

    /// <summary>How the API answers.</summary>
    public required WebOptions Web { get; init; }

    /// <summary>How Pwned Passwords are served.</summary>
    public required PasswordOptions Passwords { get; init; }

    /// <summary>Variables that begin with HIBP_ and mean nothing here, in order: most likely misspelt.</summary>
    public required IReadOnlyList<string> UnknownVariables { get; init; }

    /// <summary>A sentence for each of <see cref="UnknownVariables"/>, with what may have been meant.</summary>
    public IEnumerable<string> DescribeUnknown()
    {
        var known = OptionKeys.Concat(WebKeys).Concat(PasswordKeys).Select(VariableOf)
            .Concat(OwnVariables.Concat(FurtherVariables).Select(name => PipelineOptions.SectionName + name))
            .Select(name => name[PipelineOptions.SectionName.Length..]).Distinct().ToList();
        return UnknownVariables.Select(name =>
            name == RetiredApp ? $"{name} is no longer used: each of the two Functions apps has a package of its own" :
            Spelling.Nearest(name[PipelineOptions.SectionName.Length..], known) is { } nearest
                ? $"{name} means nothing here; did you mean {PipelineOptions.SectionName}{nearest}?"
                : $"{name} means nothing here; docs/settings.md has all that do");
    }

    /// <summary>Reads and checks them.</summary>
    /// <param name="storage">Of the command line; null: of the environment.</param>
    /// <param name="database">Of the command line; null: of the environment.</param>
    /// <param name="environment">The variables, whatever they begin with.</param>
    /// <param name="defaults">A host's own defaults of options, before the environment's values.</param>
    /// <param name="emulatorPort">Of the command line; null: of the environment.</param>
    /// <exception cref="WrongSettingsException">Values are wrong; each message names the variable.</exception>
    public static PipelineSettings Read(
        string? storage, string? database, IDictionary environment, Action<PipelineOptions>? defaults = null, int? emulatorPort = null)
    {
        var values = new Dictionary<string, string?>(StringComparer.OrdinalIgnoreCase);
        foreach (DictionaryEntry variable in environment)
        {
            var name = (string)variable.Key;
            if (name.StartsWith(PipelineOptions.SectionName, StringComparison.OrdinalIgnoreCase)
                && !string.IsNullOrWhiteSpace((string?)variable.Value))
                values[name[PipelineOptions.SectionName.Length..].Replace("__", ":", StringComparison.Ordinal)] = (string?)variable.Value;
        }
        foreach (var (option, variable) in NamedApart)
        {
            if (values.TryGetValue(variable, out var named))
                values[option] = named;
        }
        var options = new PipelineOptions();
        defaults?.Invoke(options);
        var (web, passwords) = (new WebOptions(), new PasswordOptions());
        var configuration = new ConfigurationBuilder().AddInMemoryCollection(values).Build();
        var errors = new SettingsErrors();
        foreach (var (key, value) in values.OrderBy(value => value.Key, StringComparer.OrdinalIgnoreCase))
        {
            if (Find(OptionKeys, key) is { } option)
                errors.Try(() => Bind(configuration, options, option, value!));
            else if (Find(WebKeys, key) is { } webOption)
                errors.Try(() => Bind(configuration, web, webOption, value!));
            else if (Find(PasswordKeys, key) is { } passwordOption)
                errors.Try(() => Bind(configuration, passwords, passwordOption, value!));
        }
        errors.Try(() => MailFrom.Parse(options.MailFrom));
        options.WebUrl = errors.Try(() => WebAddress.ParseBase(PipelineOptions.SectionName + WebUrlVariable, options.WebUrl))!;
        Check(options, "", errors);
        Check(web, "", errors);
        Check(passwords, "", errors);
        Check(options.Limits, nameof(PipelineOptions.Limits) + "__", errors);
        var home = HomeFolder.Find(values.GetValueOrDefault("HOME"));
        storage ??= values.GetValueOrDefault("STORAGE") ?? DefaultStorage;
        var port = emulatorPort?.ToString(CultureInfo.InvariantCulture) ?? values.GetValueOrDefault(EmulatorPortVariable);
        var emulator = LocalEmulator.IsMeantBy(storage) ? errors.Try(() => EmulatorOf(home, port)) : null;
        var settings = new PipelineSettings
        {
            Home = home,
            NamesWebUrl = values.ContainsKey(WebUrlVariable),
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
            Options = options,
            Web = web,
            Passwords = passwords,
            UnknownVariables = [.. values.Keys
                .Where(
                    key => !OptionKeys.Concat(WebKeys).Concat(PasswordKeys).Contains(key, StringComparer.OrdinalIgnoreCase)
                    && !OwnVariables.Contains(key, StringComparer.OrdinalIgnoreCase)
                    && !FurtherVariables.Contains(key, StringComparer.OrdinalIgnoreCase))
                .Select(VariableOf).Order(StringComparer.Ordinal)],
        };
        if (settings.LogStorage is { } log)
            errors.Try(() => StorageAccount.Check(log, VariableOf(LogStorageVariable)));
        foreach (var (variable, connection) in FurtherVariables.Zip(settings.FurtherStorage))
            errors.Try(() => StorageAccount.Check(connection, VariableOf(variable)));
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
        throw new BadInputException($"{VariableOf(variable)} is not the key in {file.FilePath}, under which this installation works: unset "
            + "the variable, or set it to that key");
    }

    /// <summary>
    /// The options as name and value, for the log: none of them is a secret. The sender is an address, and
    /// stays out of logs.
    /// </summary>
    public string Describe() => string.Join(", ", OptionKeys.Where(key => key != nameof(PipelineOptions.MailFrom)).Select(key =>
    {
        object value = Options;
        foreach (var part in key.Split(':'))
            value = value.GetType().GetProperty(part)!.GetValue(value)!;
        if (value is bool isOn)
            value = isOn ? "on" : "off";
        return string.Create(CultureInfo.InvariantCulture, $"{VariableOf(key)}={value}");
    }));

    private static string DatabaseIn(string home) => Path.Combine(home, "hibp.db");

    private static LocalEmulator EmulatorOf(string home, string? port)
    {
        if (port is null)
            return new LocalEmulator(home);
        return int.TryParse(port, CultureInfo.InvariantCulture, out var number)
            && number is > 0 and <= LocalEmulator.HighestPort
            ? new LocalEmulator(home, number)
            : throw new BadInputException($"{VariableOf(EmulatorPortVariable)} is expected to be from 1 to {LocalEmulator.HighestPort}, "
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
                $"{VariableOf(FurtherVariables[missing])} is expected where {VariableOf(FurtherVariables[count - 1])} is set: the storage "
                + "accounts of a store have an order");
    }

    /// <summary>Keys of all options, those of the limits behind <c>Limits:</c>.</summary>
    private static readonly IReadOnlyList<string> OptionKeys =
    [
        .. typeof(PipelineOptions).GetProperties().Where(property => property.PropertyType != typeof(ArchiveLimits)).Select(
            property => property.Name),
        .. typeof(ArchiveLimits).GetProperties().Where(property => property.CanWrite).Select(
            property => $"{nameof(PipelineOptions.Limits)}:{property.Name}"),
    ];

    private static readonly IReadOnlyList<string> WebKeys = [.. typeof(WebOptions).GetProperties().Select(property => property.Name)];

    private static readonly IReadOnlyList<string> PasswordKeys =
        [.. typeof(PasswordOptions).GetProperties().Select(property => property.Name)];

    private static string? Find(IReadOnlyList<string> keys, string key) =>
        keys.FirstOrDefault(one => one.Equals(key, StringComparison.OrdinalIgnoreCase));

    /// <summary>The environment variable of an option.</summary>
    public static string VariableOf(string option) =>
        NamedApart.TryGetValue(option, out var variable) ? PipelineOptions.SectionName + variable
        : PipelineOptions.SectionName + option.Replace(":", "__", StringComparison.Ordinal).ToUpperInvariant();

    private static bool Bind(IConfiguration configuration, object options, string key, string value)
    {
        var parts = key.Split(':');
        var target = options;
        foreach (var part in parts[..^1])
            target = target.GetType().GetProperty(part)!.GetValue(target)!;
        var property = target.GetType().GetProperty(parts[^1])!;
        // "5" would be five days.
        if (property.PropertyType == typeof(TimeSpan) && !value.Contains(':'))
            throw Unexpected("a duration as hh:mm:ss");
        // "1" would be the second of them, and "7" none.
        var type = Nullable.GetUnderlyingType(property.PropertyType) ?? property.PropertyType;
        if (type.IsEnum && Enum.IsDefined(type, "On") && SwitchOf(value) is { } isOn)
        {
            property.SetValue(target, Enum.Parse(type, isOn ? "On" : "Off"));
            return true;
        }
        if (type.IsEnum && !Enum.GetNames(type).Contains(value, StringComparer.OrdinalIgnoreCase))
            throw Unexpected(Names(type));
        if (type == typeof(bool))
        {
            property.SetValue(target, SwitchOf(value) ?? throw Unexpected("on or off"));
            return true;
        }
        try
        {
            property.SetValue(target, configuration.GetValue(property.PropertyType, key));
            return true;
        }
        catch (InvalidOperationException)
        {
            throw Unexpected(
                property.PropertyType == typeof(TimeSpan) ? "a duration as hh:mm:ss"
                : property.PropertyType == typeof(double) ? "a number" : "a whole number");
        }

        BadInputException Unexpected(string expected) => new($"{VariableOf(key)} is expected to be {expected}, found '{value}'");
    }

    /// <returns>Null: neither.</returns>
    private static bool? SwitchOf(string value) => value.ToLowerInvariant() switch
    {
        "on" or "true" => true,
        "off" or "false" => false,
        _ => null,
    };

    private static void Check(object options, string prefix, SettingsErrors errors)
    {
        foreach (var property in options.GetType().GetProperties())
        {
            var value = property.GetValue(options);
            foreach (var rule in property.GetCustomAttributes(inherit: true).OfType<ValidationAttribute>())
            {
                if (rule.IsValid(value))
                    continue;
                var expected = rule switch
                {
                    RangeAttribute range => $"from {range.Minimum} to {range.Maximum}",
                    _ => rule.FormatErrorMessage(property.Name),
                };
                errors.Add($"{VariableOf(prefix + property.Name)} is expected to be {expected}, found {value}");
            }
        }
    }

    private static string Names(Type choice) => string.Join(" or ", Enum.GetNames(choice).Select(name => name.ToLowerInvariant()));
}
