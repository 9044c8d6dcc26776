namespace HibpIngest.Cli.Session;

/// <summary>
/// The command ran, but its outcome is not the requested one (a load failed, a check found an error): one line on standard error, exit code
/// 1.
/// </summary>
internal sealed class CommandFailedException(string message) : HibpException(message);
