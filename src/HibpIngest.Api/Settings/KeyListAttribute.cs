using System.ComponentModel.DataAnnotations;

namespace HibpIngest.Api.Settings;

/// <summary>Accepts keys of at least 32 bytes in base64, separated by commas.</summary>
[AttributeUsage(AttributeTargets.Property)]
internal sealed class KeyListAttribute : ValidationAttribute
{
    public override bool IsValid(object? value) => value is null
        || LinkTokens.KeysOf((string)value) is not null;

    public override string FormatErrorMessage(string name) => ErrorMessage!;
}

/// <summary>Accepts a key with which commands can be sealed.</summary>
[AttributeUsage(AttributeTargets.Property)]
internal sealed class CommandPublicKeyAttribute : ValidationAttribute
{
    public override bool IsValid(object? value) => value is null || CommandSealer.TryParse((string)value) is not null;

    public override string FormatErrorMessage(string name) => ErrorMessage!;
}
