namespace HibpIngest.Api.Responses;

internal static class RequestHeaders
{
    /// <summary>An entry for gzip in Accept-Encoding takes precedence over one for <c>*</c>.</summary>
    public static bool AcceptsGzip(HttpRequest request)
    {
        var (gzip, wildcard) = ((bool?)null, (bool?)null);
        foreach (var header in request.Headers.AcceptEncoding)
        {
            foreach (var part in header.AsSpan().Split(','))
            {
                var coding = header.AsSpan()[part].Trim();
                var end = coding.IndexOf(';');
                var name = (end < 0 ? coding : coding[..end]).Trim();
                if (name.Equals("gzip", StringComparison.OrdinalIgnoreCase))
                    gzip = end < 0 || !IsZeroQuality(coding[(end + 1)..]);
                else if (name.SequenceEqual("*"))
                    wildcard = end < 0 || !IsZeroQuality(coding[(end + 1)..]);
            }
        }
        return gzip ?? wildcard ?? false;
    }

    private static bool IsZeroQuality(ReadOnlySpan<char> weight)
    {
        weight = weight.Trim();
        return weight.StartsWith("q=", StringComparison.OrdinalIgnoreCase) && weight[2..].Trim().IndexOfAnyExcept("0.") < 0;
    }

    /// <summary>Returns whether If-None-Match matches one of the response's ETags (weak comparison, RFC 9110).</summary>
    public static bool MatchesIfNoneMatch(HttpRequest request, string etag, string? otherETag = null)
    {
        foreach (var header in request.Headers.IfNoneMatch)
        {
            if (header is null)
                continue;
            foreach (var part in header.Split(',', StringSplitOptions.TrimEntries))
            {
                var tag = part.StartsWith("W/", StringComparison.Ordinal) ? part[2..] : part;
                if (tag == "*" || tag == etag || tag == otherETag)
                    return true;
            }
        }
        return false;
    }
}
