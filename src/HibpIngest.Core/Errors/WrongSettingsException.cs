namespace HibpIngest.Errors;

public sealed class WrongSettingsException(IReadOnlyList<string> messages) : BadInputException(string.Join("; ", messages))
{
    public IReadOnlyList<string> Messages { get; } = messages;
}
