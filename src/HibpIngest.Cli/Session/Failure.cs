namespace HibpIngest.Cli.Session;

internal static class Failure
{
    public const int Failed = 1;
    public const int WrongUsage = 2;

    public static int ExitCode(Exception e) => e is WrongUsageException ? WrongUsage : Failed;

    public static string Message(Exception e) => (e switch
    {
        HibpException or IOException or UnauthorizedAccessException => e.Message,
        // The exception's message could repeat its input, such as an address.
        _ => $"unexpected {e.GetType().Name}; --verbose shows where",
    }).ReplaceLineEndings(" ");
}

/// <summary>The command ran, but its outcome is not the requested one: a load failed, a check found an error.</summary>
internal sealed class CommandFailedException(string message) : HibpException(message);

/// <summary>An error of the command line that is only detected when the command runs; its message refers to the help.</summary>
internal sealed class WrongUsageException(string message) : HibpException(message);
