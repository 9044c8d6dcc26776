namespace HibpIngest.Testing;

/// <summary>Searches sent payloads for addresses: verbatim, with the escapes of JSON, HTML and URLs undone, and base64 decoded.</summary>
internal static partial class AddressSearch
{
    /// <summary>Returns those of the addresses that occur in a payload, each as alias, @ and domain.</summary>
    public static IReadOnlyList<string> Find(IEnumerable<byte[]> payloads, IReadOnlyCollection<string> addresses)
    {
        var all = new StringBuilder();
        foreach (var payload in payloads)
        {
            var text = Encoding.Latin1.GetString(payload);
            var unescaped = Escape().Replace(text, escape => $"{(char)Convert.ToInt32(escape.Groups["code"].Value, 16)}");
            all.Append(text).Append('\n').Append(unescaped).Append('\n')
                .Append(System.Net.WebUtility.HtmlDecode(unescaped)).Append('\n').Append(Uri.UnescapeDataString(unescaped)).Append('\n');
            foreach (var word in Base64().Matches(text).Select(word => word.Value[..(word.Length / 4 * 4)]))
            {
                if (TryDecode(word) is { } decoded)
                    all.Append(decoded).Append('\n');
            }
        }
        var searched = all.ToString().ToLowerInvariant();
        return [.. addresses.Where(address => searched.Contains(address, StringComparison.Ordinal))];
    }

    private static string? TryDecode(string word)
    {
        var bytes = new byte[word.Length];
        return Convert.TryFromBase64String(word, bytes, out var length) ? Encoding.Latin1.GetString(bytes, 0, length) : null;
    }

    [GeneratedRegex("\\\\u(?<code>[0-9a-fA-F]{4})", RegexOptions.ExplicitCapture, matchTimeoutMilliseconds: 60_000)]
    private static partial Regex Escape();

    [GeneratedRegex("[A-Za-z0-9+/]{12,}={0,2}", RegexOptions.None, matchTimeoutMilliseconds: 60_000)]
    private static partial Regex Base64();
}
