namespace HibpIngest.Integration.Tests.Api;

/// <summary>Requests that no ordinary client sends, with the status that HTTP and docs/api.md require; drawn by a seed.</summary>
internal sealed class OddRequests(int seed, string key)
{
    private const string Account = "/api/v3/breachedaccount/";
    private const string Catalogue = "/api/v3/dataclasses";

    private readonly Random _random = new(seed);

    /// <summary>Returns one request of each kind.</summary>
    public IEnumerable<OddRequest> Round()
    {
        // Impossible accounts that could be meant as such: not found.
        yield return Get("encoded slash", $"{Account}{Word()}%2F{Word()}%40{Word()}.com", 404);
        yield return Get("encoded backslash", $"{Account}{Word()}%5C{Word()}%40{Word()}.com", 404);
        yield return Get("quote", $"{Account}{Word()}'%20or%20'1'%3D'1%40{Word()}.com", 404);
        yield return Get("double quote", $"{Account}%22{Word()}%22@{Word()}.com", 404);
        yield return Get("quoted filter", $"{Account}x'%20or%20PartitionKey%20ne%20'@{Word()}.com", 404);
        yield return Get("wildcard", $"{Account}{Pick("*", "%25", "%3F", "_%25", ".*", "%2A")}@{Word()}.com", 404);
        yield return Get("overlong UTF-8", $"{Account}{Word()}{Pick("%C0%AF", "%C0%80", "%E0%80%AF", "%F0%80%80%AF")}@{Word()}.com", 404);
        yield return Get("broken UTF-8", $"{Account}{Word()}{Pick("%FF", "%80", "%C3", "%ED%A0%80", "%F5%80%80%80")}@{Word()}.com", 404);
        yield return Get(
            "other alphabets",
            $"{Account}{Uri.EscapeDataString(Pick("ünï", "пётр", "王小明", "\u202Eadmin", "😀"))}@{Word()}.com", 404);
        yield return Get("percent sign alone", $"{Account}{Word()}{Pick("%", "%2", "%zz", "%%")}@{Word()}.com", 404);
        yield return Get("encoded twice", $"{Account}{Word()}%2540{Word()}%40{Word()}.com", 404);
        yield return Get("row of another mark", $"{Account}{Word()}!{_random.Next(9)}@{Word()}.com", 404);
        yield return Get("control at the end", $"{Account}{Word()}@{Word()}.com{Pick("%0A", "%0D%0A", "%09", "%20")}", 404);
        yield return Get("long labels", $"{Account}{Word()}@{new string('a', _random.Next(64, 200))}.com", 404);

        // Not accounts at all.
        yield return Get("no @", $"{Account}{Word()}", 400);
        yield return Get("slash and no @", $"{Account}..%2F..%2F{Word()}", 400);
        yield return Get("two @", $"{Account}{Word()}@{Word()}%40{Word()}.com", 400);
        yield return Get(
            "control within", $"{Account}{Word()}{Pick("%01", "%0A", "%0D%0A", "%1B", "%7F", "%C2%85", "%08")}x@{Word()}.com", 400);
        yield return Get("NUL", $"{Account}{Word()}%00{Pick("", Word())}@{Word()}.com", 400);
        yield return Get("too long", $"{Account}{new string('a', _random.Next(321, 5_000))}@{Word()}.com", 400);
        yield return Get(
            "not hexadecimal",
            $"/api/v3/breachedaccount/range/{Pick("12345G", "0x1234", "%EF%BC%91%EF%BC%92345678", "-12345", "'1234'", "*")}", 400);
        yield return Get("not six digits", $"/enterprise/range/search/{new string('A', Pick(1, 5, 7, 40))}", 401);
        yield return Get("domain that is none", $"/api/v3/breacheddomain/{Pick("*", "%25", "'", "a%2Fb", ".", "example.com%00")}", 400);

        // Paths without a route.
        yield return Get(
            "dots",
            $"/api/v3/{Pick("../../etc/passwd", "./breaches", "x/../breaches", "%2e%2e/%2e%2e/etc/passwd", "..%2f..%2f" + Word())}", 404);
        yield return Get("slashes", Pick("//api/v3/breaches", "/api//v3/breaches", "/api/v3//breaches", "///"), 404);
        yield return Get("further segments", $"{Account}{Word()}@{Word()}.com/{Word()}", 404);
        yield return Get(
            "other names", $"/{Pick("admin", ".env", "wp-login.php", "metrics", "api/v2/breaches", "UpsertSlice", Word())}", 404);
        yield return Get(
            "breach of any name", $"/api/v3/breach/{Pick("*", "'", "%25", "..%2F..", "%C0%AF", "A%2Flpha", new string('x', 4_000))}", 404);
        yield return Get("logo of any name", $"/logos/{Pick("..%2F..%2Fetc%2Fpasswd", "%2e%2e", "Alpha.png%2F..", "*.png", ".png")}", 404);
        yield return Get("encoded slash in a route", "/api%2Fv3%2Fbreaches", 404);

        // Queries.
        yield return Get(
            "junk in the query",
            $"{Account}{WebFixture.InAlpha}?truncateResponse={Pick("%00", "maybe", "%C0%AF", "'", "1")}&{Word()}", 200);
        yield return Get(
            "a site by junk", $"{Account}{WebFixture.InAlpha}?domain={Pick("*", "'%20or%20''='", "%25", "%C0%AF", "%00", "..")}", 404);
        yield return Get("many parameters", $"{Catalogue}?{string.Concat(Enumerable.Repeat("a=1&", _random.Next(100, 1_900)))}", 200);
        yield return Get("fragment", $"{Catalogue}#{Word()}", 404);

        // Headers.
        yield return Get("any Host", Catalogue, 200, host: Pick("evil.example", "127.0.0.1.evil.example", "localhost:1", "[::1]", Word()));
        yield return Get(
            "forged addresses", Catalogue, 200, [$"X-Forwarded-For: {Pick("127.0.0.1", "::1, 10.0.0.1", "'", new string(',', 500))}",
            "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https", "Forwarded: for=\"[::1]\";host=evil.example",
            $"X-Original-URL: /{Word()}"]);
        yield return Get("junk in known headers", Catalogue, 200, [$"Accept-Encoding: {Pick("gzip;q=x", "*", ";;;,,,", "br;q=1,gzip;q=0")}",
            $"If-None-Match: {Pick("\"", "*x", "W/\"\"", "'", "\"a\",,\"b\"")}", $"Accept: {Word()}", $"Range: bytes={_random.Next()}-",
            $"Origin: {Word()}", "Cookie: =;;="]);
        yield return Get("known by any ETag", Catalogue, 304, ["If-None-Match: *"]);
        yield return Get("other alphabets in a header", Catalogue, 200, ["X-Name: Пётр 王小明"]);
        yield return Get(
            "key of another form", $"{Account}{Word()}@{Word()}.com", 401, asKey: Pick(
                "'", "*", new string('a', 33), new string('0', 31) + "g", "%00", new string('a', 8_000), new string('\uFF41', 32)));
        yield return Get("key twice", $"{Account}{Word()}@{Word()}.com", 401, [$"hibp-api-key: {key}"]);
        yield return Get("no key", $"{Account}{Word()}@{Word()}.com", 401, asKey: "");
        yield return Raw("no agent", $"GET {Catalogue} HTTP/1.1\r\nHost: x\r\n\r\n", 403);
        yield return Raw("no Host", $"GET {Catalogue} HTTP/1.1\r\nUser-Agent: odd\r\n\r\n", 400);
        yield return Raw("two Hosts", $"GET {Catalogue} HTTP/1.1\r\nHost: a\r\nHost: b\r\nUser-Agent: odd\r\n\r\n", 400);
        yield return Raw(
            "a Host that is none",
            $"GET {Catalogue} HTTP/1.1\r\nHost: {Pick("a b", "a/b", "<x>", "a\tb", "user@host")}\r\nUser-Agent: odd\r\n\r\n", 400);
        yield return Line("folded header", $"GET {Catalogue}", 400, "X-A: 1\r\n 2\r\n");
        yield return Line("header without a colon", $"GET {Catalogue}", 400, $"{Word()}\r\n");
        yield return Line("space before the colon", $"GET {Catalogue}", 400, "X-A : 1\r\n");
        yield return Raw("NUL in a header", $"GET {Catalogue} HTTP/1.1\r\nHost: x\r\nUser-Agent: o\0d\r\n\r\n", 400);
        yield return Line("broken UTF-8 in a header", $"GET {Catalogue}", 400, "X-A: \u00FF\u00FE\r\n");
        yield return Line("raw bytes in the path", $"GET {Account}\u00E4\u00FF@{Word()}.com", 400);
        yield return Line("raw NUL in the path", $"GET {Account}a\0@{Word()}.com", 400);
        yield return Raw("no HTTP", $"{Word()}\r\n\r\n", 400);
        yield return Raw("no target", "GET HTTP/1.1\r\nHost: x\r\n\r\n", 400);
        yield return Line(
            "length of no number", $"GET {Catalogue}", 400, $"Content-Length: {Pick("-1", "x", "1 2", "99999999999999999999")}\r\n");
        yield return Line("another site's address", $"GET http://evil.example{Catalogue}", 400);
        yield return Line("whole address", $"GET http://x{Catalogue}", 200);
        yield return Raw("asterisk", "OPTIONS * HTTP/1.1\r\nHost: x\r\nUser-Agent: odd\r\n\r\n", 404);

        // Sizes.
        yield return Get("64 KB of path", $"{Account}{new string('a', 65_536)}@{Word()}.com", 414);
        yield return Get("64 KB of query", $"{Catalogue}?{new string('a', 65_536)}", 414);
        yield return Get("64 KB of header", Catalogue, 431, [$"X-A: {new string('a', 65_536)}"]);
        yield return Get("200 headers", Catalogue, 431, [.. Enumerable.Range(0, 200).Select(i => $"X-{i}: 1")]);

        // Methods and bodies.
        var method = Pick("POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", Word().ToUpperInvariant());
        yield return Line("other method", $"{method} {Catalogue}", 405);
        yield return Line("body that is announced only", $"POST {Catalogue}", 405, "Content-Length: 1000000\r\n");
        yield return Raw(
            "body nobody asked for", $"GET {Catalogue} HTTP/1.1\r\nHost: x\r\nUser-Agent: odd\r\nContent-Length: 5\r\n\r\n12345", 200);
        yield return Raw(
            "chunks that are none",
            $"POST {Catalogue} HTTP/1.1\r\nHost: x\r\nUser-Agent: odd\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 405);
        yield return Line("unknown coding", $"POST {Catalogue}", 400, "Transfer-Encoding: gzip\r\n");
    }

    private OddRequest Get(
        string kind, string target, int status, string[]? headers = null, string host = "x", string? asKey = null) => new(
        kind, status, Encoding.UTF8.GetBytes(
            $"GET {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: odd\r\nhibp-api-key: {asKey ?? key}\r\n"
            + $"{string.Concat((headers ?? []).Select(header => header + "\r\n"))}\r\n"));

    /// <summary>Makes a request with this request line and these headers, each with its line end.</summary>
    private static OddRequest Line(string kind, string line, int status, string headers = "") =>
        Raw(kind, $"{line} HTTP/1.1\r\nHost: x\r\nUser-Agent: odd\r\n{headers}\r\n", status);

    /// <summary>Encodes one character as one byte.</summary>
    private static OddRequest Raw(string kind, string text, int status) => new(kind, status, Encoding.Latin1.GetBytes(text));

    private string Word() => string.Concat(Enumerable.Range(0, _random.Next(3, 12)).Select(_ => (char)_random.Next('a', 'z' + 1)));

    private T Pick<T>(params T[] all) => all[_random.Next(all.Length)];
}

/// <summary>A request and the status that it must get.</summary>
internal sealed record OddRequest(string Kind, int Status, byte[] Bytes);
