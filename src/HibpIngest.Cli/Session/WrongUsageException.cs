namespace HibpIngest.Cli.Session;

/// <summary>
/// The command line lacks something that is only detected when the command runs: an error on standard error that refers to the help, exit
/// code 2.
/// </summary>
internal sealed class WrongUsageException(string message) : HibpException(message);
