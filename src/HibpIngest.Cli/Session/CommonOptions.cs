namespace HibpIngest.Cli.Session;

internal static class CommonOptions
{
    public static readonly Option<string?> Storage = new("--storage")
    {
        Description = "Connection string of the storage account. Default: HIBP_STORAGE, else the local emulator.",
        HelpName = "CONNECTION",
        Recursive = true,
    };

    public static readonly Option<string?> Database = new("--database")
    {
        Description = "File of a SQLite database, or connection string of one on SQL Server or Azure SQL. Default: HIBP_DATABASE, else "
            + "hibp.db in HIBP_HOME.",
        HelpName = "DATABASE",
        Recursive = true,
    };

    public static readonly Option<int?> EmulatorPort = new("--emulator-port")
    {
        Description = "First of the local emulator's three ports. Default: HIBP_EMULATOR_PORT, else 10000.",
        HelpName = "PORT",
        Recursive = true,
    };

    public static readonly Option<bool> Json = new("--json")
    {
        Description = "Write the result as one JSON document to standard output; everything else goes to standard error.",
        Recursive = true,
    };

    public static readonly Option<bool> Verbose =
        new("--verbose") { Description = "Log progress and the origin of errors to standard error.", Recursive = true };

    public static Option<string?> Password() => new("--password")
    {
        Description = "Password of an encrypted archive. Other users of this machine can see it while the command runs; --password-stdin "
            + "keeps it private.",
        HelpName = "PASSWORD",
    };

    public static Option<bool> PasswordFromInput() => new("--password-stdin")
    {
        Description = "Read the password of an encrypted archive from the first line of standard input.",
    };
}
