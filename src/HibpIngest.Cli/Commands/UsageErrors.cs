using System.CommandLine.Parsing;

namespace HibpIngest.Cli.Commands;

/// <summary>Replaces the parser's error messages: those don't distinguish options from arguments, and suggest no similar name.</summary>
internal static class UsageErrors
{
    public static IReadOnlyList<string> Of(ParseResult parsed)
    {
        // A command line after a directive is incomplete input to be completed by the shell: the parser's errors apply.
        if (parsed.Tokens.Any(token => token.Type == TokenType.Directive))
            return [.. parsed.Errors.Select(error => error.Message.ReplaceLineEndings(" "))];
        var command = parsed.CommandResult.Command;
        var options = UnknownOptions(parsed);
        if (options.Count > 0)
            return [.. options.Select(option => UnknownOption(parsed, option))];
        if (command.Subcommands.Count > 0 && parsed.UnmatchedTokens.Count > 0)
            return [UnknownCommand(parsed, parsed.UnmatchedTokens[0])];
        var unmatched = parsed.UnmatchedTokens.ToHashSet();
        return
        [
            .. unmatched.Select(word => $"'{word}' is one argument too many: '{PathOf(parsed)}' takes {Arguments(command)}"),
            .. parsed.Errors.Where(error => !unmatched.Any(word => error.Message.Contains($"'{word}'", StringComparison.Ordinal)))
                .Select(error => NoNumber(error) ?? error.Message.ReplaceLineEndings(" ")).Distinct(),
        ];
    }

    public static string PathOf(ParseResult parsed)
    {
        var names = new List<string>();
        for (var result = parsed.CommandResult; result is not null; result = result.Parent as CommandResult)
            names.Insert(0, result.Command is RootCommand ? "hibp" : result.Command.Name);
        return string.Join(' ', names);
    }

    /// <summary>
    /// Returns words that look like options but are none. The parser would take them for arguments; an argument that begins with a hyphen
    /// must be written after <c>--</c>.
    /// </summary>
    private static List<string> UnknownOptions(ParseResult parsed)
    {
        var values = new HashSet<Token>(ReferenceEqualityComparer.Instance);
        for (var result = parsed.CommandResult; result is not null; result = result.Parent as CommandResult)
        {
            foreach (var option in result.Children.OfType<OptionResult>())
                values.UnionWith(option.Tokens);
        }
        return
        [
            .. parsed.Tokens.TakeWhile(token => token.Type != TokenType.DoubleDash)
                .Where(token => token.Type == TokenType.Argument && !values.Contains(token) && LooksLikeOption(token.Value))
                .Select(token => token.Value.Split('=', ':')[0]).Distinct(),
        ];
    }

    // A single hyphen means standard input, and a hyphen before a digit is a minus sign.
    private static bool LooksLikeOption(string word) => word.Length > 1 && word[0] == '-' && !char.IsAsciiDigit(word[1]);

    private static string UnknownOption(ParseResult parsed, string option)
    {
        var known = new List<string>();
        for (var result = parsed.CommandResult; result is not null; result = result.Parent as CommandResult)
        {
            known.AddRange(result.Command.Options.Where(one => !one.Hidden && (one.Recursive || result == parsed.CommandResult))
                .Select(one => one.Name));
        }
        return $"'{PathOf(parsed)}' has no option '{option}'{DidYouMean(Spelling.Nearest(option, known))}";
    }

    private static string UnknownCommand(ParseResult parsed, string word)
    {
        var above = parsed.CommandResult.Command is RootCommand ? "" : PathOf(parsed)["hibp ".Length..] + " ";
        var near = Spelling.Nearest(
            word, parsed.CommandResult.Command.Subcommands.Where(below => !below.Hidden).Select(below => below.Name));
        return $"there is no command '{above}{word}'{DidYouMean(near is null ? null : above + near)}";
    }

    private static string DidYouMean(string? near) => near is null ? "" : $": did you mean '{near}'?";

    private static string Arguments(Command command) =>
        command.Arguments.Count == 0 ? "none" : string.Join(" and ", command.Arguments.Select(argument => argument.Name));

    private static string? NoNumber(ParseError error)
    {
        var (name, type) = error.SymbolResult switch
        {
            OptionResult option => (option.Option.Name, option.Option.ValueType),
            ArgumentResult { Parent: OptionResult option } => (option.Option.Name, option.Option.ValueType),
            ArgumentResult argument => (argument.Argument.Name, argument.Argument.ValueType),
            _ => ("", typeof(string)),
        };
        var number = Nullable.GetUnderlyingType(type) ?? type;
        if (error.SymbolResult?.Tokens is not [var token] || (number != typeof(int) && number != typeof(long))
            || (number == typeof(int) ? int.TryParse(token.Value, out _) : long.TryParse(token.Value, out _)))
            return null;
        return name == "LOAD"
            ? $"'{token.Value}' is not the number of a load, which 'hibp status' shows"
            : $"{name}: expected a whole number, found '{token.Value}'";
    }
}
