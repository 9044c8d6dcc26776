using HibpIngest.Passwords.Appends;

namespace HibpIngest.Passwords.Serving;

/// <summary>
/// Writes a release, with what was added to it, as one text: sorted lines <c>HASH:COUNT</c>, without a byte order mark, each ending with a
/// newline (one reader rejects a mark, and a last line without its end).
/// </summary>
public sealed class ExportPasswords(PasswordStores stores, PasswordReleases releases, TimeProvider time)
{
    /// <param name="release">The release's name. Null for the served one.</param>
    /// <param name="progress">Receives the number of hashes written so far, and in all.</param>
    /// <returns>The number of hashes written.</returns>
    /// <exception cref="NotPossibleException">There is no such release, or it lacks the mode.</exception>
    /// <exception cref="StoreMismatchException">The release differs from what was imported.</exception>
    public async Task<long> RunAsync(
        string? release, HashMode mode, Stream output, IProgress<(long Rows, long Total)>? progress, CancellationToken cancellationToken)
    {
        var name = PasswordReleases.NameOf(release, await releases.GetCurrentAsync(cancellationToken));
        var found = await releases.GetAsync(name, cancellationToken);
        var part = found.BestOf(mode) ?? throw new NotPossibleException($"release {name} has no {mode.Name()} hashes");
        var source = await ExtendedRelease.OpenAsync(stores, found.Key, part, time, cancellationToken);
        var (sum, written, rows) = (new RowSum(), 0L, new List<HashCount>());
        for (var group = 0; group < PasswordNames.Groups; group++)
        {
            await foreach (var range in source.ReadGroupAsync(group, cancellationToken))
            {
                if (range.Imported is not null)
                    sum.Add(mode, range.Prefix, range.Imported, rows);
                var text = range.Content.For(acceptsGzip: false).Bytes;
                var lines = Lines(range.Prefix, text.Span);
                written += lines.AsSpan().Count((byte)'\n');
                await output.WriteAsync(lines, cancellationToken);
            }
            progress?.Report((sum.Rows, part.Rows));
        }
        await output.FlushAsync(cancellationToken);
        return (sum.Rows, sum.Text) == (part.Rows, part.Sum) ? written : throw new StoreMismatchException(
            $"release {name}: expected {part.Rows} hashes, as imported, found {sum.Rows}; do not use the file that was written");
    }

    private static byte[] Lines(int prefix, ReadOnlySpan<byte> text)
    {
        var digits = Encoding.ASCII.GetBytes(HashModes.PrefixText(prefix));
        // CRLF becomes LF, and each line gains the prefix.
        var lines = new byte[text.Length + ((text.Count((byte)'\n') + 1) * (HashModes.PrefixDigits + 1))];
        var at = 0;
        foreach (var range in text.Split("\r\n"u8))
        {
            digits.CopyTo(lines, at);
            text[range].CopyTo(lines.AsSpan(at + digits.Length));
            at += digits.Length + text[range].Length;
            lines[at++] = (byte)'\n';
        }
        return lines[..at];
    }
}
