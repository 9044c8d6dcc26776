namespace HibpIngest.Errors;

/// <summary>Settings are missing or wrong.</summary>
public sealed class WrongSettingsException(IReadOnlyList<string> messages) : BadInputException(string.Join("; ", messages))
{
    public IReadOnlyList<string> Messages { get; } = messages;
}
