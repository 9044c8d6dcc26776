namespace HibpIngest.Passwords.Import;

/// <summary>
/// Sorts hashes in place, one byte after the other from the first (American flag sort), and small groups by insertion. Hashes are evenly
/// distributed, so only two or three bytes are examined.
/// </summary>
/// <remarks>
/// Not Span.Sort: it calls a comparer through a delegate that copies both structs, and compares each hash about 19 times for a bucket of
/// 490,000.
/// </remarks>
internal static class HashSort
{
    private const int Bytes = 20;
    private const int FewRows = 24;

    /// <summary>Sorts by hash; counts of the same hash stay adjacent in any order.</summary>
    public static void Sort(Span<HashCount> rows)
    {
        if (rows.Length <= FewRows)
            Insert(rows);
        else
            SortFrom(rows, 0);
    }

    /// <summary>Adds up the counts of equal hashes.</summary>
    /// <param name="rows">Sorted.</param>
    /// <returns>The number of distinct hashes, which are at the front.</returns>
    public static int Sum(Span<HashCount> rows)
    {
        if (rows.IsEmpty)
            return 0;
        var last = 0;
        for (var i = 1; i < rows.Length; i++)
        {
            if (rows[i].IsSameHash(rows[last]))
                rows[last] = rows[last].Plus(rows[i]);
            else if (++last != i)
                rows[last] = rows[i];
        }
        return last + 1;
    }

    private static void SortFrom(Span<HashCount> rows, int index)
    {
        Span<int> next = stackalloc int[256];
        Span<int> ends = stackalloc int[256];
        // Skip a common prefix without a call for each byte.
        for (; ; index++)
        {
            if (index == Bytes)
                return;
            next.Clear();
            foreach (ref readonly var row in rows)
                next[row.ByteAt(index)]++;
            if (next[rows[0].ByteAt(index)] != rows.Length)
                break;
        }
        var start = 0;
        for (var value = 0; value < next.Length; value++)
        {
            var count = next[value];
            next[value] = start;
            start += count;
            ends[value] = start;
        }
        for (var value = 0; value < next.Length; value++)
        {
            while (next[value] < ends[value])
            {
                var row = rows[next[value]];
                for (var its = row.ByteAt(index); its != value; its = row.ByteAt(index))
                {
                    var place = next[its]++;
                    (row, rows[place]) = (rows[place], row);
                }
                rows[next[value]++] = row;
            }
        }
        start = 0;
        foreach (var end in ends)
        {
            if (end - start > FewRows)
                SortFrom(rows[start..end], index + 1);
            else if (end - start > 1)
                Insert(rows[start..end]);
            start = end;
        }
    }

    private static void Insert(Span<HashCount> rows)
    {
        for (var i = 1; i < rows.Length; i++)
        {
            var row = rows[i];
            var at = i;
            for (; at > 0 && row.IsBefore(rows[at - 1]); at--)
                rows[at] = rows[at - 1];
            rows[at] = row;
        }
    }
}
