using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;

namespace HibpIngest;

/// <summary>
/// Names of files, which strangers give: stealer logs are named by their victims' addresses. One rule says what
/// an @ is in them, for entries' names, which are shown redacted, and for breaches', which are refused.
/// </summary>
public static partial class NameText
{
    /// <summary>The name without what is not seen, spaces as spaces and every @ as an @.</summary>
    public static string Clean(string name)
    {
        var seen = new StringBuilder(name.Length);
        foreach (var rune in name.EnumerateRunes())
        {
            // Control characters break lines and terminals; format characters reorder what a reader sees, or hide in an address.
            switch (Rune.GetUnicodeCategory(rune))
            {
                case UnicodeCategory.Control or UnicodeCategory.Format or UnicodeCategory.Surrogate or UnicodeCategory.OtherNotAssigned
                    or UnicodeCategory.PrivateUse:
                    continue;
                case UnicodeCategory.SpaceSeparator or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator:
                    seen.Append(' ');
                    continue;
                default:
                    seen.Append(rune.ToString());
                    continue;
            }
        }
        return At().Replace(seen.ToString(), "@");
    }

    /// <summary>Whether it holds an @, however written: it may be an address then.</summary>
    public static bool HoldsAt(string name) => Clean(name).Contains('@');

    /// <summary>
    /// Whether it holds a control character or a noncharacter (U+FFFE, U+FFFF), which break lines, terminals and XML.
    /// </summary>
    public static bool HoldsControl(string name)
    {
        foreach (var unit in name)
        {
            if (char.IsControl(unit) || unit is '\uFFFE' or '\uFFFF')
                return true;
        }
        return false;
    }

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

    // The full-width @ (U+FF20) and the small one (U+FE6B), and all three as URLs have them, encoded once or
    // more (%40, %2540, %EF%BC%A0).
    [GeneratedRegex(@"[\uFF20\uFE6B]|%(?:25)*(?:40|EF%(?:25)*(?:BC%(?:25)*A0|B9%(?:25)*AB))",
        RegexOptions.IgnoreCase | RegexOptions.CultureInvariant, matchTimeoutMilliseconds: 1000)]
    private static partial Regex At();
}
