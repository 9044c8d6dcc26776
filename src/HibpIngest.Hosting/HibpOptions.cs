using System.ComponentModel.DataAnnotations;
using System.Reflection;
using HibpIngest.Api.Settings;
using HibpIngest.Passwords.Serving;
using Microsoft.Extensions.Configuration;

namespace HibpIngest.Hosting;

public static class HibpOptions
{
    public const string Prefix = "HIBP_";

    /// <summary>Adds all options classes, bound from the variables and validated at host start, or when they are first read.</summary>
    /// <param name="variables">Their names have no prefix.</param>
    public static IServiceCollection AddHibpOptions(this IServiceCollection services, IConfiguration variables) => services
        .Add<IngestOptions>(variables).Add<UpsertOptions>(variables)
        .Add<MailOptions>(variables, mail => MailFrom.Parse(mail.MailFrom))
        .Add<CallbackOptions>(variables).Add<JournalOptions>(variables).Add<RetryOptions>(variables)
        .Add<SiteOptions>(variables, site => site.WebUrl = WebAddress.ParseBase(Prefix + PipelineSettings.WebUrlVariable, site.WebUrl))
        .Add<SweepOptions>(variables).Add<WebOptions>(variables).Add<PasswordOptions>(variables);

    public static string VariableOf(PropertyInfo property) => new OptionVariable(property).Name;

    private static IServiceCollection Add<T>(this IServiceCollection services, IConfiguration variables, Func<T, object>? check = null)
        where T : class
    {
        var binder = new OptionBinder<T>(variables, check);
        services.AddOptions<T>().ValidateOnStart();
        return services.AddSingleton<IConfigureOptions<T>>(binder).AddSingleton<IValidateOptions<T>>(binder)
            .AddSingleton<IOptions<object>>(provider => provider.GetRequiredService<IOptions<T>>());
    }

    /// <param name="check">Checks what no attribute covers, or completes a value; throws for an invalid one.</param>
    private sealed class OptionBinder<T>(IConfiguration variables, Func<T, object>? check) : IConfigureOptions<T>, IValidateOptions<T>
        where T : class
    {
        private readonly IReadOnlyList<OptionVariable> _options = OptionVariable.Of(typeof(T));

        public void Configure(T options)
        {
            // Validate reports the values that can't be parsed.
            var unread = new SettingsErrors();
            foreach (var option in _options)
            {
                if (unread.Try(() => option.Read(variables)) is { } value)
                    option.Set(options, value);
            }
        }

        public ValidateOptionsResult Validate(string? name, T options)
        {
            var errors = new SettingsErrors();
            foreach (var option in _options)
            {
                errors.Try(() => option.Read(variables));
                foreach (var error in option.Check(options))
                    errors.Add(error);
            }
            errors.Try(() => check?.Invoke(options));
            return errors.Messages.Count == 0 ? ValidateOptionsResult.Success : ValidateOptionsResult.Fail(errors.Messages);
        }
    }
}

/// <param name="parent">The options property that holds the object with this property; null if the options class itself has it.</param>
internal sealed class OptionVariable(PropertyInfo property, PropertyInfo? parent = null)
{
    private readonly Type _type = Nullable.GetUnderlyingType(property.PropertyType) ?? property.PropertyType;

    public string Key { get; } =
        (parent is null ? "" : $"{parent.Name}:") + (property.GetCustomAttribute<ConfigurationKeyNameAttribute>()?.Name ?? property.Name);

    public string Name => PipelineSettings.NameOf(Key);

    public static IReadOnlyList<OptionVariable> Of(Type options) =>
    [
        .. options.GetProperties().SelectMany(one => one.PropertyType == typeof(ArchiveLimits)
            ? one.PropertyType.GetProperties().Where(limit => limit.CanWrite).Select(limit => new OptionVariable(limit, one))
            : [new OptionVariable(one)]),
    ];

    public object? Get(object options) => property.GetValue(parent is null ? options : parent.GetValue(options));

    public void Set(object options, object value) => property.SetValue(parent is null ? options : parent.GetValue(options), value);

    public object? Read(IConfiguration variables)
    {
        if (variables[Key] is not { } text)
            return null;
        // TimeSpan would parse "5" as five days.
        if (_type == typeof(TimeSpan) && !text.Contains(':'))
            throw Unexpected("a duration as hh:mm:ss");
        if (_type == typeof(bool))
            return SwitchOf(text) ?? throw Unexpected("on or off");
        if (_type.IsEnum)
        {
            if (Enum.IsDefined(_type, "On") && SwitchOf(text) is { } isOn)
                return Enum.Parse(_type, isOn ? "On" : "Off");
            // Enum parsing would also accept numbers: "1" as the second name, and "7" as no name.
            if (!Enum.GetNames(_type).Contains(text, StringComparer.OrdinalIgnoreCase))
                throw Unexpected(string.Join(" or ", Enum.GetNames(_type).Select(name => name.ToLowerInvariant())));
        }
        try
        {
            return variables.GetValue(_type, Key);
        }
        catch (InvalidOperationException)
        {
            throw Unexpected(
                _type == typeof(TimeSpan) ? "a duration as hh:mm:ss" : _type == typeof(double) ? "a number" : "a whole number");
        }

        BadInputException Unexpected(string expected) => new($"{Name}: expected {expected}, found '{text}'");
    }

    public IEnumerable<string> Check(object options)
    {
        var value = Get(options);
        return property.GetCustomAttributes<ValidationAttribute>().Where(rule => !rule.IsValid(value)).Select(
            rule => $"{Name}: expected "
                + (rule is RangeAttribute range ? $"{range.Minimum} to {range.Maximum}" : rule.FormatErrorMessage(property.Name))
                + $", found {value}");
    }

    private static bool? SwitchOf(string text) => text.ToLowerInvariant() switch
    {
        "on" or "true" => true,
        "off" or "false" => false,
        _ => null,
    };
}
