using System.Diagnostics.CodeAnalysis;

namespace HibpIngest.Testing;

internal static class Patterns
{
    // Patterns and texts are the tests' own: a match takes this long only on a machine that is busy with other work.
    private static readonly TimeSpan Timeout = TimeSpan.FromMinutes(1);

    /// <summary>Returns each match of a pattern: its group "found", or all of it if there is no such group.</summary>
    public static IEnumerable<string> Find(string text, [StringSyntax(StringSyntaxAttribute.Regex)] string pattern) =>
        Regex.Matches(text, pattern, RegexOptions.ExplicitCapture | RegexOptions.Multiline, Timeout)
            .Select(match => match.Groups["found"] is { Success: true } found ? found.Value : match.Value);

    public static string Replace(string text, [StringSyntax(StringSyntaxAttribute.Regex)] string pattern, string replacement) =>
        Regex.Replace(text, pattern, replacement, RegexOptions.ExplicitCapture | RegexOptions.Multiline, Timeout);
}
