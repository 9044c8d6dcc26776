using System.ComponentModel.DataAnnotations;

namespace HibpIngest.Api.Settings;

/// <summary>Accepts keys of at least 32 bytes in base64, separated by commas.</summary>
[AttributeUsage(AttributeTargets.Property)]
internal sealed class KeyListAttribute : ValidationAttribute
{
    private const int MinBytes = 32;

    public override bool IsValid(object? value) => value is null
        || ((string)value).Split(',').All(key => Parse(key) is not null);

    public override string FormatErrorMessage(string name) => ErrorMessage!;

    /// <returns>Null: it is no such key.</returns>
    public static byte[]? Parse(string text)
    {
        var key = new byte[text.Length];
        return Convert.TryFromBase64String(text.Trim(), key, out var written) && written >= MinBytes ? key[..written] : null;
    }
}
