namespace HibpIngest.Hosting;

/// <summary>Collects the errors of settings, so that all are reported at once. Not safe for concurrent use.</summary>
public sealed class SettingsErrors
{
    private readonly List<string> _messages = [];

    public IReadOnlyList<string> Messages => _messages;

    /// <summary>The same lines for callers without a key: without the values that were found, which may be secrets.</summary>
    public IReadOnlyList<string> Public =>
        [.. _messages.Select(message => message.Split(", found ")[0])];

    /// <param name="message">A value must follow <c>, found</c>, so that <see cref="Public"/> can omit it.</param>
    public void Add(string message) => _messages.Add(message);

    /// <summary>Runs code that reads or opens settings. If it throws, adds the messages and returns the default value.</summary>
    public T? Try<T>(Func<T> read)
    {
        try
        {
            return read();
        }
        catch (Exception e) when (e is HibpException or OptionsValidationException)
        {
            _messages.AddRange(e switch
            {
                WrongSettingsException several => several.Messages,
                OptionsValidationException invalid => invalid.Failures,
                _ => [e.Message],
            });
            return default;
        }
    }

    public void ThrowIfAny()
    {
        if (_messages.Count > 0)
            throw new WrongSettingsException([.. _messages]);
    }
}
