namespace HibpIngest.Web;

/// <summary>What a request's headers say of the answer that it takes.</summary>
internal static class RequestHeaders
{
    /// <summary>What it says of gzip counts, else what it says of all; by default it takes none.</summary>
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

    /// <summary>q=0, q=0.0 and so on.</summary>
    private static bool IsZero(ReadOnlySpan<char> weight)
    {
        weight = weight.Trim();
        return weight.StartsWith("q=", StringComparison.OrdinalIgnoreCase) && weight[2..].Trim().IndexOfAnyExcept("0.") < 0;
    }

    /// <summary>Whether the client has one of these already, and asks for another only.</summary>
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
