using System.ComponentModel.DataAnnotations;

namespace HibpIngest.Api.Settings;

[AttributeUsage(AttributeTargets.Property)]
internal sealed class KeyListAttribute : ValidationAttribute
{
    public override bool IsValid(object? value) => value is null || LinkTokens.KeysOf((string)value) is not null;
}

[AttributeUsage(AttributeTargets.Property)]
internal sealed class CommandPublicKeyAttribute : ValidationAttribute
{
    public override bool IsValid(object? value) => value is null || CommandSealer.TryParse((string)value) is not null;
}
