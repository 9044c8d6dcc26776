using HibpIngest.Errors;

namespace HibpIngest.Cli;

/// <summary>
/// The command line lacks something that shows only when the command runs: an error on standard error with
/// where to look, exit code 2.
/// </summary>
internal sealed class WrongUsageException(string message) : HibpException(message);
