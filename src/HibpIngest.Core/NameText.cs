using System.Text.RegularExpressions;

namespace HibpIngest;

/// <summary>
/// Handles file names, which come from untrusted sources: stealer logs are named after their victims' addresses. One rule defines the forms
/// of @, for entries' names, which are displayed redacted, and for breaches' names, which are rejected.
/// </summary>
public static partial class NameText
{
    /// <summary>Returns the name without invisible characters, with every kind of space as a space and every form of @ as @.</summary>
    public static string Clean(string name)
    {
        var seen = new StringBuilder(name.Length);
        foreach (var rune in name.EnumerateRunes())
        {
            // Control characters break lines and terminals; format characters reorder what a reader sees, or hide in an address.
            seen.Append(Rune.GetUnicodeCategory(rune) switch
            {
                UnicodeCategory.Control or UnicodeCategory.Format or UnicodeCategory.Surrogate or UnicodeCategory.OtherNotAssigned
                    or UnicodeCategory.PrivateUse => "",
                UnicodeCategory.SpaceSeparator or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator => " ",
                _ => rune.ToString(),
            });
        }
        return At().Replace(seen.ToString(), "@");
    }

    /// <summary>Returns whether the name holds an @ in any form, so that it may be an address.</summary>
    public static bool HoldsAt(string name) => Clean(name).Contains('@');

    /// <summary>
    /// Returns whether the name holds a control character or a noncharacter (U+FFFE, U+FFFF), which break lines, terminals and XML.
    /// </summary>
    public static bool HoldsControl(string name) => name.Any(unit => char.IsControl(unit) || unit is '\uFFFE' or '\uFFFF');

    /// <summary>Returns the name with control and format characters as <c>\uXXXX</c>, for a log line or a terminal.</summary>
    public static string Escape(string name)
    {
        var shown = new StringBuilder(name.Length);
        foreach (var unit in name)
        {
            if (char.IsControl(unit) || CharUnicodeInfo.GetUnicodeCategory(unit) is UnicodeCategory.Format
                or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator or UnicodeCategory.OtherNotAssigned)
            {
                shown.Append(CultureInfo.InvariantCulture, $"\\u{(int)unit:X4}");
            }
            else
            {
                shown.Append(unit);
            }
        }
        return shown.ToString();
    }

    // The full-width @ (U+FF20), the small @ (U+FE6B), and all three forms percent-encoded once or more (%40, %2540, %EF%BC%A0).
    [GeneratedRegex(@"[\uFF20\uFE6B]|%(?:25)*(?:40|EF%(?:25)*(?:BC%(?:25)*A0|B9%(?:25)*AB))",
        RegexOptions.IgnoreCase | RegexOptions.CultureInvariant, matchTimeoutMilliseconds: 1000)]
    private static partial Regex At();
}
