namespace HibpIngest.Errors;

/// <summary>Settings are missing or wrong.</summary>
/// <param name="messages">One line for each.</param>
public sealed class WrongSettingsException(IReadOnlyList<string> messages) : BadInputException(string.Join("; ", messages))
{
    public IReadOnlyList<string> Messages { get; } = messages;
}
