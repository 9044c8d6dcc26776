namespace HibpIngest;

public static class Spelling
{
    /// <summary>
    /// The candidate that differs from a word in the fewest letters (put in, left out, changed, or swapped with their neighbour), whatever
    /// their case; null: none is near.
    /// </summary>
    public static string? Nearest(string word, IEnumerable<string> candidates)
    {
        // Of a word of three letters one may be wrong, of one of twelve four: what differs in more looks like another word.
        var most = Math.Max(1, word.Length / 3);
        return candidates.Select(candidate => (Candidate: candidate, Distance: Distance(word, candidate)))
            .Where(one => one.Distance <= most).OrderBy(one => one.Distance).ThenBy(one => one.Candidate, StringComparer.Ordinal)
            .Select(one => one.Candidate).FirstOrDefault();
    }

    /// <summary>In how many letters two words differ: of optimal string alignment (Damerau, Levenshtein).</summary>
    internal static int Distance(string one, string other)
    {
        var distances = new int[one.Length + 1, other.Length + 1];
        for (var i = 0; i <= one.Length; i++)
            distances[i, 0] = i;
        for (var j = 0; j <= other.Length; j++)
            distances[0, j] = j;
        for (var i = 1; i <= one.Length; i++)
        {
            for (var j = 1; j <= other.Length; j++)
            {
                var changed = IsSame(i - 1, j - 1) ? 0 : 1;
                var least = Math.Min(
                    Math.Min(distances[i - 1, j] + 1, distances[i, j - 1] + 1), distances[i - 1, j - 1] + changed);
                if (i > 1 && j > 1 && IsSame(i - 1, j - 2) && IsSame(i - 2, j - 1))
                    least = Math.Min(least, distances[i - 2, j - 2] + 1);
                distances[i, j] = least;
            }
        }
        return distances[one.Length, other.Length];

        bool IsSame(int i, int j) => char.ToUpperInvariant(one[i]) == char.ToUpperInvariant(other[j]);
    }
}
