using HibpIngest.Errors;

namespace HibpIngest.Cli;

/// <summary>
/// What was asked for ended otherwise (a load failed, a check found something broken): one line on standard
/// error, exit code 1.
/// </summary>
internal sealed class CommandFailedException(string message) : HibpException(message);
