using System.Collections;
using System.ComponentModel.DataAnnotations;
using HibpIngest.Archives;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Pipeline;
using HibpIngest.Web;
using Microsoft.Extensions.Configuration;

namespace HibpIngest.Hosting;

/// <summary>What this process is told by the command line and by environment variables that begin with HIBP_.</summary>
public sealed record PipelineSettings
{
    public const string DefaultStorage = "UseDevelopmentStorage=true";

    public static readonly string DefaultDatabase = Path.Combine(".hibp", "hibp.db");

    private const string MailFromVariable = "MAIL_FROM";
    private const string WebUrlVariable = "WEB_URL";

    /// <summary>Options whose variables are not named as they are.</summary>
    private static readonly Dictionary<string, string> NamedApart = new()
    {
        [nameof(PipelineOptions.MailFrom)] = MailFromVariable,
        [nameof(PipelineOptions.WebUrl)] = WebUrlVariable,
    };

    /// <summary>Variables that are not properties of <see cref="PipelineOptions"/> or <see cref="WebOptions"/>.</summary>
    private static readonly string[] OwnVariables =
        ["STORAGE", "DATABASE", "MAIL", MailFromVariable, WebUrlVariable, "SECRET_KEY", "EMULATOR_DIR", "APP", "APPINSIGHTS"];

    /// <summary>Connection string of the storage account.</summary>
    public required string Storage { get; init; }

    /// <summary>File of the database, or its connection string.</summary>
    public required string Database { get; init; }

    /// <summary>Where mails go.</summary>
    public string? Mail { get; init; }

    /// <summary>Seals archive passwords; base64 of 32 bytes.</summary>
    public string? SecretKey { get; init; }

    public required PipelineOptions Options { get; init; }

    /// <summary>How the API answers.</summary>
    public required WebOptions Web { get; init; }

    /// <summary>Variables that begin with HIBP_ and mean nothing here, in order: most likely misspelt.</summary>
    public required IReadOnlyList<string> UnknownVariables { get; init; }

    /// <summary>Reads and checks them.</summary>
    /// <param name="defaults">A host's own defaults of options, before the environment's values.</param>
    /// <exception cref="BadInputException">A value is not what it has to be; the message names the variable.</exception>
    public static PipelineSettings Read(
        string? storage, string? database, IDictionary environment, Action<PipelineOptions>? defaults = null)
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
        var web = new WebOptions();
        var configuration = new ConfigurationBuilder().AddInMemoryCollection(values).Build();
        foreach (var (key, value) in values)
        {
            if (OptionKeys.Contains(key, StringComparer.OrdinalIgnoreCase))
                Bind(configuration, options, OptionKeys.First(one => one.Equals(key, StringComparison.OrdinalIgnoreCase)), value!);
            else if (WebKeys.Contains(key, StringComparer.OrdinalIgnoreCase))
                Bind(configuration, web, WebKeys.First(one => one.Equals(key, StringComparison.OrdinalIgnoreCase)), value!);
        }
        _ = MailFrom.Parse(options.MailFrom);
        options.WebUrl = WebAddress.ParseBase(PipelineOptions.SectionName + WebUrlVariable, options.WebUrl);
        Check(options, "");
        Check(web, "");
        Check(options.Limits, nameof(PipelineOptions.Limits) + "__");
        return new PipelineSettings
        {
            Storage = storage ?? values.GetValueOrDefault("STORAGE") ?? DefaultStorage,
            Database = database ?? values.GetValueOrDefault("DATABASE") ?? DefaultDatabase,
            Mail = values.GetValueOrDefault("MAIL"),
            SecretKey = values.GetValueOrDefault("SECRET_KEY"),
            Options = options,
            Web = web,
            UnknownVariables = [.. values.Keys
                .Where(
                    key => !OptionKeys.Concat(WebKeys).Contains(key, StringComparer.OrdinalIgnoreCase)
                    && !OwnVariables.Contains(key, StringComparer.OrdinalIgnoreCase))
                .Select(Variable).Order(StringComparer.Ordinal)],
        };
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
        return string.Create(System.Globalization.CultureInfo.InvariantCulture, $"{Variable(key)}={value}");
    }));

    /// <summary>Keys of all options, those of the limits behind <c>Limits:</c>.</summary>
    private static readonly IReadOnlyList<string> OptionKeys =
    [
        .. typeof(PipelineOptions).GetProperties().Where(property => property.PropertyType != typeof(ArchiveLimits)).Select(
            property => property.Name),
        .. typeof(ArchiveLimits).GetProperties().Where(property => property.CanWrite).Select(
            property => $"{nameof(PipelineOptions.Limits)}:{property.Name}"),
    ];

    private static readonly IReadOnlyList<string> WebKeys = [.. typeof(WebOptions).GetProperties().Select(property => property.Name)];

    private static string Variable(string key) =>
        NamedApart.TryGetValue(key, out var variable) ? PipelineOptions.SectionName + variable
        : PipelineOptions.SectionName + key.Replace(":", "__", StringComparison.Ordinal).ToUpperInvariant();

    private static void Bind(IConfiguration configuration, object options, string key, string value)
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
        if (property.PropertyType.IsEnum && !Enum.GetNames(property.PropertyType).Contains(value, StringComparer.OrdinalIgnoreCase))
            throw Unexpected(Names(property.PropertyType));
        if (property.PropertyType == typeof(bool?))
        {
            property.SetValue(target, value.ToLowerInvariant() switch { "on" => true, "off" => false, _ => throw Unexpected("on or off") });
            return;
        }
        try
        {
            property.SetValue(target, configuration.GetValue(property.PropertyType, key));
        }
        catch (InvalidOperationException)
        {
            throw Unexpected(
                property.PropertyType == typeof(TimeSpan) ? "a duration as hh:mm:ss"
                : property.PropertyType == typeof(double) ? "a number" : "a whole number");
        }

        BadInputException Unexpected(string expected) => new($"{Variable(key)} is expected to be {expected}, found '{value}'");
    }

    private static void Check(object options, string prefix)
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
                throw new BadInputException($"{Variable(prefix + property.Name)} is expected to be {expected}, found {value}");
            }
        }
    }

    private static string Names(Type choice) => string.Join(" or ", Enum.GetNames(choice).Select(name => name.ToLowerInvariant()));
}
