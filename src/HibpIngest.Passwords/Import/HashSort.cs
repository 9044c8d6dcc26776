namespace HibpIngest.Passwords.Import;

/// <summary>
/// Sorts hashes byte by byte (American flag sort), small groups by insertion; only two or three bytes are examined. Not Span.Sort: it calls
/// a comparer through a delegate that copies both structs, about 19 times for each hash of a bucket of 490,000.
/// </summary>
internal static class HashSort
{
    private const int Bytes = 20;
    private const int FewRows = 24;

    private static void Sort(Span<HashCount> rows)
    {
        if (rows.Length <= FewRows)
            Insert(rows);
        else
            SortFrom(rows, 0);
    }

    private static int Sum(Span<HashCount> rows)
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

    /// <returns>The number of distinct hashes, which are at the front with the sum of their counts.</returns>
    public static int SortAndSum(Span<HashCount> rows)
    {
        Sort(rows);
        return Sum(rows);
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
                for (var other = row.ByteAt(index); other != value; other = row.ByteAt(index))
                {
                    var place = next[other]++;
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
