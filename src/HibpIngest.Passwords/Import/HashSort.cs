namespace HibpIngest.Passwords.Import;

/// <summary>
/// Sorts hashes by their bytes (American flag sort), and groups of at most 24 by insertion. In a bucket of random hashes, two or three
/// bytes decide the order. Not Span.Sort: its comparer is a delegate that copies both structs, called about 19 times per hash in a bucket
/// of 490,000.
/// </summary>
internal static class HashSort
{
    private const int Bytes = 20;
    private const int MaxInsertionRows = 24;

    /// <returns>Number of distinct hashes; they fill the front of the span.</returns>
    public static int SortAndSum(Span<HashCount> rows)
    {
        Sort(rows);
        return Sum(rows);
    }

    private static void Sort(Span<HashCount> rows)
    {
        if (rows.Length <= MaxInsertionRows)
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

    private static void SortFrom(Span<HashCount> rows, int index)
    {
        Span<int> counts = stackalloc int[256];
        Span<int> ends = stackalloc int[256];
        // Skip a common prefix without a call for each byte.
        for (; ; index++)
        {
            if (index == Bytes)
                return;
            counts.Clear();
            foreach (ref readonly var row in rows)
                counts[row.ByteAt(index)]++;
            if (counts[rows[0].ByteAt(index)] != rows.Length)
                break;
        }
        var end = 0;
        for (var value = 0; value < counts.Length; value++)
        {
            end += counts[value];
            ends[value] = end;
        }
        PermuteInPlace(rows, index, counts, ends);
        var start = 0;
        foreach (var groupEnd in ends)
        {
            if (groupEnd - start > MaxInsertionRows)
                SortFrom(rows[start..groupEnd], index + 1);
            else if (groupEnd - start > 1)
                Insert(rows[start..groupEnd]);
            start = groupEnd;
        }
    }

    /// <param name="counts">The groups' sizes; overwritten.</param>
    private static void PermuteInPlace(Span<HashCount> rows, int index, Span<int> counts, ReadOnlySpan<int> ends)
    {
        // The first place of each group that may still hold another group's row.
        var next = counts;
        for (var value = 0; value < next.Length; value++)
            next[value] = ends[value] - counts[value];
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
