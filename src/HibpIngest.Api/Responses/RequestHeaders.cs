namespace HibpIngest.Api.Responses;

/// <summary>Reads the request headers that select the form of a response.</summary>
internal static class RequestHeaders
{
    /// <summary>Returns whether the client accepts gzip: gzip's own entry counts, else that of <c>*</c>; the default is no.</summary>
    public static bool TakesGzip(HttpRequest request)
    {
        var (gzip, all) = ((bool?)null, (bool?)null);
        foreach (var header in request.Headers.AcceptEncoding)
        {
            foreach (var part in header.AsSpan().Split(','))
            {
                var coding = header.AsSpan()[part].Trim();
                var end = coding.IndexOf(';');
                var name = (end < 0 ? coding : coding[..end]).Trim();
                if (name.Equals("gzip", StringComparison.OrdinalIgnoreCase))
                    gzip = end < 0 || !IsZero(coding[(end + 1)..]);
                else if (name.SequenceEqual("*"))
                    all = end < 0 || !IsZero(coding[(end + 1)..]);
            }
        }
        return gzip ?? all ?? false;
    }

    private static bool IsZero(ReadOnlySpan<char> weight)
    {
        weight = weight.Trim();
        return weight.StartsWith("q=", StringComparison.OrdinalIgnoreCase) && weight[2..].Trim().IndexOfAnyExcept("0.") < 0;
    }

    public static bool Has(HttpRequest request, string etag, string? otherETag = null)
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
