using System.ComponentModel.DataAnnotations;
using System.Reflection;
using Microsoft.Extensions.Configuration;

namespace HibpIngest.Hosting;

/// <param name="parent">The options property that holds the object with this property; null: the options class itself has it.</param>
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

    /// <returns>Null: the variable is not set.</returns>
    /// <exception cref="BadInputException">The value has another form.</exception>
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

        BadInputException Unexpected(string expected) => new($"{Name} is expected to be {expected}, found '{text}'");
    }

    public IEnumerable<string> Check(object options)
    {
        var value = Get(options);
        return property.GetCustomAttributes<ValidationAttribute>().Where(rule => !rule.IsValid(value)).Select(
            rule => $"{Name} is expected to be "
                + (rule is RangeAttribute range ? $"from {range.Minimum} to {range.Maximum}" : rule.FormatErrorMessage(property.Name))
                + $", found {value}");
    }

    private static bool? SwitchOf(string text) => text.ToLowerInvariant() switch
    {
        "on" or "true" => true,
        "off" or "false" => false,
        _ => null,
    };
}
