namespace HibpIngest.Errors;

/// <summary>
/// The loggable parts of an exception. The message of an exception from outside this project could repeat its input, such as an address,
/// and is never used.
/// </summary>
public static class UnexpectedError
{
    /// <summary>Reason for a cancelled operation: not a fault.</summary>
    public const string Stopped = "stopped";

    /// <summary>Returns one line: the message if the exception is a <see cref="HibpException"/>, else its type.</summary>
    public static string Reason(Exception e) => e switch
    {
        HibpException => e.Message,
        OperationCanceledException => Stopped,
        _ => $"unexpected {e.GetType().Name}",
    };

    /// <summary>Returns the exception types from the outermost to the innermost, and the stack trace, without messages.</summary>
    public static string Describe(Exception e)
    {
        var types = new List<string>();
        for (var inner = e; inner is not null; inner = inner.InnerException)
            types.Add(inner.GetType().ToString());
        return $"{string.Join(" < ", types)}{Environment.NewLine}{e.StackTrace}";
    }
}
