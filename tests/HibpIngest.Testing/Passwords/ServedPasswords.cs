using HibpIngest.Passwords.Ranges;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Serving;
using Microsoft.Extensions.Options;

namespace HibpIngest.Testing;

/// <summary>Reads passwords as a server and an export do.</summary>
internal static class ServedPasswords
{
    public static PasswordRanges OpenRanges(this PasswordStores stores, TimeProvider? time = null, PasswordOptions? options = null) =>
        new(stores, Options.Create(options ?? new PasswordOptions()), time ?? TimeProvider.System, NullLoggerFactory.Instance);

    public static async Task<string> ReadTextAsync(this IPasswordRanges ranges, HashMode mode, int prefix) =>
        (await ranges.FindAsync(mode, prefix, CancellationToken.None))!.Text();

    public static string Text(this RangeContent range) => Encoding.ASCII.GetString(range.For(acceptsGzip: false).Bytes.Span);

    /// <summary>Asserts that the export of a release's SHA-1 hashes has these lines, sorted.</summary>
    public static async Task AssertReleaseIsAsync(this PasswordStores stores, string release, IEnumerable<string> lines)
    {
        using var exported = new MemoryStream();
        await new ExportPasswords(stores, PasswordRig.ReleasesOf(stores), TimeProvider.System).RunAsync(
            release, HashMode.Sha1, exported, null, CancellationToken.None);
        Assert.Equal(lines.Order(StringComparer.Ordinal), Encoding.ASCII.GetString(exported.ToArray()).TrimEnd('\n').Split('\n'));
    }

    /// <summary>Returns a stored range without its last row: it is still a valid range.</summary>
    public static PasswordContent WithoutLastRow(ReadOnlyMemory<byte> gzip)
    {
        var text = Encoding.ASCII.GetString(RangeGzip.Decompress(gzip));
        return PasswordContent.Range(RangeGzip.Compress(Encoding.ASCII.GetBytes(text[..text.LastIndexOf('\r')])));
    }
}
