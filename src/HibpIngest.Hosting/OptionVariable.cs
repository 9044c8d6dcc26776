using System.ComponentModel.DataAnnotations;
using System.Reflection;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using Microsoft.Extensions.Configuration;

namespace HibpIngest.Hosting;

/// <summary>A property of options, and the variable that sets it.</summary>
/// <param name="parent">The property that holds the object with this one; null: the options themselves do.</param>
internal sealed class OptionVariable(PropertyInfo property, PropertyInfo? parent = null)
{
    private readonly Type _type = Nullable.GetUnderlyingType(property.PropertyType) ?? property.PropertyType;

    /// <summary>The variable's key in the configuration.</summary>
    public string Key { get; } =
        (parent is null ? "" : $"{parent.Name}:") + (property.GetCustomAttribute<ConfigurationKeyNameAttribute>()?.Name ?? property.Name);

    public string Name => PipelineSettings.NameOf(Key);

    /// <summary>Returns the options of a class; those of the limits one by one.</summary>
    public static IReadOnlyList<OptionVariable> Of(Type options) =>
    [
        .. options.GetProperties().SelectMany(one => one.PropertyType == typeof(ArchiveLimits)
            ? one.PropertyType.GetProperties().Where(limit => limit.CanWrite).Select(limit => new OptionVariable(limit, one))
            : [new OptionVariable(one)]),
    ];

    public object? Get(object options) => property.GetValue(parent is null ? options : parent.GetValue(options));

    public void Set(object options, object value) => property.SetValue(parent is null ? options : parent.GetValue(options), value);

    /// <summary>Reads the variable.</summary>
    /// <returns>Null if it is not set.</returns>
    /// <exception cref="BadInputException">The value is of another form.</exception>
    public object? Read(IConfiguration variables)
    {
        if (variables[Key] is not { } text)
            return null;
        // "5" would be five days.
        if (_type == typeof(TimeSpan) && !text.Contains(':'))
            throw Unexpected("a duration as hh:mm:ss");
        if (_type == typeof(bool))
            return SwitchOf(text) ?? throw Unexpected("on or off");
        if (_type.IsEnum)
        {
            if (Enum.IsDefined(_type, "On") && SwitchOf(text) is { } isOn)
                return Enum.Parse(_type, isOn ? "On" : "Off");
            // "1" would be the second name, and "7" none.
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

    /// <summary>Returns an error for each attribute that the value breaks.</summary>
    public IEnumerable<string> Check(object options)
    {
        var value = Get(options);
        return property.GetCustomAttributes<ValidationAttribute>().Where(rule => !rule.IsValid(value)).Select(
            rule => $"{Name} is expected to be "
                + (rule is RangeAttribute range ? $"from {range.Minimum} to {range.Maximum}" : rule.FormatErrorMessage(property.Name))
                + $", found {value}");
    }

    /// <returns>Null for any other text.</returns>
    private static bool? SwitchOf(string text) => text.ToLowerInvariant() switch
    {
        "on" or "true" => true,
        "off" or "false" => false,
        _ => null,
    };
}
