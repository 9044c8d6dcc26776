using System.Collections;

namespace HibpIngest.Cli.Session;

internal static class LoggingOptions
{
    private const string FormatVariable = "HIBP_LOG_FORMAT";
    private const string LevelVariable = "HIBP_LOG_LEVEL";

    private static readonly Option<LogFormat?> Format = new("--log-format")
    {
        Description = $"Log format: text, or json (one object a line). Default: {FormatVariable}, else text.",
        HelpName = "json|text",
    };

    private static readonly Option<LogLevel?> Level = new("--log-level")
    {
        Description = $"Minimum log level: trace, debug, information, warning, error or critical. Default: {LevelVariable}, else "
            + "information for the pipeline and warning for the rest.",
        HelpName = "LEVEL",
    };

    static LoggingOptions()
    {
        // Completes the names in lower case.
        Format.CompletionSources.Clear();
        Format.CompletionSources.Add("json", "text");
        Level.CompletionSources.Clear();
        Level.CompletionSources.Add("trace", "debug", "information", "warning", "error", "critical");
    }

    public static IReadOnlyList<Option> All => [Format, Level];

    public static (LogFormat Format, LogLevel? Level) Read(ParseResult parsed, IDictionary variables)
    {
        if (!parsed.CommandResult.Command.Options.Contains(Format))
            return (LogFormat.Text, null);
        return (
            parsed.GetValue(Format) ?? ReadVariable<LogFormat>(variables, FormatVariable) ?? LogFormat.Text,
            parsed.GetValue(Level) ?? ReadVariable<LogLevel>(variables, LevelVariable));
    }

    private static T? ReadVariable<T>(IDictionary variables, string variable)
        where T : struct, Enum
    {
        if (variables[variable] is not string value || string.IsNullOrWhiteSpace(value))
            return null;
        return EnumNames.TryParse<T>(value.Trim(), out var named) ? named
            : throw new BadInputException($"{variable}: expected {EnumNames.Join<T>(" or ")}, found '{value}'");
    }
}
