using System.Net;
using Microsoft.AspNetCore.Http.Features;

namespace HibpIngest.Api.Requests;

/// <summary>
/// The path of a request as it was sent, in segments, each decoded exactly once. A server's own path (dots resolved, some characters
/// decoded and others not) may differ from what the client requested.
/// </summary>
public readonly struct RequestTarget
{
    private readonly string _path;

    private RequestTarget(string path) => _path = path;

    /// <summary>
    /// The path for routing: each segment decoded, a slash within one still encoded. Null if the server's own path is unambiguous.
    /// </summary>
    public PathString? Path => IsPlain(_path) ? (PathString?)null : new PathString(
        string.Join('/', _path.Split('/').Select(one => Decode(one).Replace("/", "%2F", StringComparison.Ordinal))));

    /// <summary>The segment at an index, 0 for the first; empty if there is none. A plus sign is not decoded.</summary>
    public string this[int place]
    {
        get
        {
            var at = -1;
            foreach (var range in _path.AsSpan().Split('/'))
            {
                if (at++ == place)
                    return Decode(_path[range]);
            }
            return "";
        }
    }

    public static RequestTarget Of(HttpContext context) => Parse(context.Features.GetRequiredFeature<IHttpRequestFeature>().RawTarget);

    /// <summary>Parses the target of a request line: <c>/path?query</c>, or with scheme and host before it.</summary>
    public static RequestTarget Parse(string target)
    {
        var path = target.AsSpan();
        if (!path.StartsWith("/"))
        {
            var host = path.IndexOf("://");
            var start = host < 0 ? -1 : path[(host + 3)..].IndexOf('/');
            path = start < 0 ? "/" : path[(host + 3 + start)..];
        }
        var end = path.IndexOfAny('?', '#');
        if (end >= 0)
            path = path[..end];
        return new RequestTarget(path.Length == target.Length ? target : path.ToString());
    }

    private static bool IsPlain(string path) =>
        !path.Contains('%', StringComparison.Ordinal) && !path.Contains("/.", StringComparison.Ordinal)
        && !path.Contains("//", StringComparison.Ordinal);

    /// <summary>Replaces bytes that are no UTF-8 by a character that no account contains; a % without two digits stays.</summary>
    private static string Decode(string segment)
    {
        if (!segment.Contains('%', StringComparison.Ordinal))
            return segment;
        var bytes = Encoding.UTF8.GetBytes(segment.Replace("+", "%2B", StringComparison.Ordinal)); // a form's + is a space, a path's is not
        return Encoding.UTF8.GetString(WebUtility.UrlDecodeToBytes(bytes, 0, bytes.Length)!);
    }
}
