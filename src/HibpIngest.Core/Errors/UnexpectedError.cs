namespace HibpIngest.Errors;

/// <summary>
/// What may be logged of an exception that isn't ours: its message could repeat what it was given, an address
/// among it.
/// </summary>
public static class UnexpectedError
{
    /// <summary>The reason of what was told to stop: no fault.</summary>
    public const string Stopped = "stopped";

    /// <summary>Why something failed, in one line: the message where it is one of ours, else the type alone.</summary>
    public static string Reason(Exception e) => e switch
    {
        HibpException => e.Message,
        OperationCanceledException => Stopped,
        _ => $"unexpected {e.GetType().Name}",
    };

    /// <summary>The types from the outermost in, and where it happened; no message.</summary>
    public static string Describe(Exception e)
    {
        var types = new List<string>();
        for (var inner = e; inner is not null; inner = inner.InnerException)
            types.Add(inner.GetType().ToString());
        return $"{string.Join(" < ", types)}{Environment.NewLine}{e.StackTrace}";
    }
}
