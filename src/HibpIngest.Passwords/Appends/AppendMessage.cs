namespace HibpIngest.Passwords.Appends;

/// <summary>A confirmed transaction to split into parts, or one of its parts to add. The message holds no hash.</summary>
/// <param name="Part">The part to add. If null, the transaction must be split into parts.</param>
[Queue(QueueNames.PasswordsAppend)]
public sealed record AppendMessage(string Subscription, Guid Transaction, AppendPart? Part = null) : WorkMessage
{
    protected override bool IsComplete() =>
        Subscription is not null && Part is null or { Number: >= 0, Offset: >= 0, Rows: > 0, Release: not null };
}

/// <summary>A part of a transaction. It has all the transaction's hashes of its ranges, so no range is in two parts.</summary>
/// <param name="Offset">Where the first hash begins, in bytes of the stored transaction (<see cref="AppendRows"/>).</param>
/// <param name="Release">A <see cref="ReleaseKey"/>.</param>
public sealed record AppendPart(int Number, HashMode Mode, int Offset, int Rows, string Release)
{
    /// <summary>The maximum number of hashes in a part, unless a single range has more.</summary>
    public const int MaxRows = 500;

    internal static IReadOnlyList<AppendPart> Of(ReadOnlySpan<byte> bytes, int sha1Rows, string release, int maxRows = MaxRows)
    {
        var parts = new List<AppendPart>();
        var offset = 0;
        foreach (var mode in HashModes.All)
        {
            var end = mode == HashMode.Sha1 ? sha1Rows * AppendRows.RowBytes(mode) : bytes.Length;
            var rows = AppendRows.Read(mode, bytes[offset..end]);
            for (var first = 0; first < rows.Count;)
            {
                var next = Math.Min(first + maxRows, rows.Count);
                // Cut where a range begins. If one range fills the part, extend it to where the next range begins.
                var cut = next;
                while (cut > first && cut < rows.Count && rows[cut].Prefix == rows[cut - 1].Prefix)
                    cut--;
                while (cut == first && next < rows.Count && rows[next].Prefix == rows[next - 1].Prefix)
                    next++;
                next = cut == first ? next : cut;
                parts.Add(new AppendPart(parts.Count, mode, offset + (first * AppendRows.RowBytes(mode)), next - first, release));
                first = next;
            }
            offset = end;
        }
        return parts;
    }
}
