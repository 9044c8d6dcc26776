using HibpIngest.Messages;

namespace HibpIngest.Passwords;

/// <summary>
/// A transaction to spread over messages of its parts, or one of its parts to add. It holds no hash.
/// </summary>
/// <param name="Part">The part to add; null: the transaction is to be spread.</param>
[Queue(QueueNames.PasswordsAppend)]
public sealed record AppendMessage(string Subscription, Guid Transaction, AppendPart? Part = null) : WorkMessage
{
    protected override bool IsComplete() =>
        Subscription is not null && Part is null or { Number: >= 0, Offset: >= 0, Rows: > 0, Release: not null };
}

/// <summary>Part of a transaction: all its hashes of some ranges, so that no range is in two parts.</summary>
/// <param name="Number">Its own, from 0.</param>
/// <param name="Offset">Of the first, in bytes of what is kept (<see cref="AppendRows"/>).</param>
/// <param name="Release">The release that they are added to (<see cref="ReleaseKey"/>).</param>
public sealed record AppendPart(int Number, HashMode Mode, int Offset, int Rows, string Release)
{
    /// <summary>Most hashes of a part, but for those of one range.</summary>
    public const int MostRows = 500;

    /// <param name="bytes">What is kept of it.</param>
    internal static IReadOnlyList<AppendPart> Of(ReadOnlySpan<byte> bytes, int sha1Rows, string release, int mostRows = MostRows)
    {
        var parts = new List<AppendPart>();
        var offset = 0;
        foreach (var mode in HashModes.All)
        {
            var end = mode == HashMode.Sha1 ? sha1Rows * AppendRows.RowBytes(mode) : bytes.Length;
            var rows = AppendRows.Read(mode, bytes[offset..end]);
            for (var first = 0; first < rows.Count;)
            {
                var next = Math.Min(first + mostRows, rows.Count);
                // Back to where a range begins, or, where it is all one range, on to where the next does.
                var cut = next;
                while (cut > first && cut < rows.Count && rows[cut].Prefix == rows[cut - 1].Prefix)
                    cut--;
                while (cut == first && next < rows.Count && rows[next].Prefix == rows[next - 1].Prefix)
                    next++;
                next = cut == first ? next : cut;
                parts.Add(new AppendPart(
                    parts.Count, mode, offset + (first * AppendRows.RowBytes(mode)), next - first, release));
                first = next;
            }
            offset = end;
        }
        return parts;
    }
}
