namespace HibpIngest;

public static class Spelling
{
    /// <summary>
    /// Returns the candidate with the smallest edit distance to a word (insertions, deletions, substitutions, swaps of neighbouring
    /// letters), ignoring case.
    /// </summary>
    /// <returns>Null if no candidate is similar.</returns>
    public static string? Nearest(string word, IEnumerable<string> candidates)
    {
        // One error is allowed in a word of three letters, four in one of twelve: with more, the candidate looks like another word.
        var limit = Math.Max(1, word.Length / 3);
        return candidates.Select(candidate => (Candidate: candidate, Distance: Distance(word, candidate)))
            .Where(one => one.Distance <= limit).OrderBy(one => one.Distance).ThenBy(one => one.Candidate, StringComparer.Ordinal)
            .Select(one => one.Candidate).FirstOrDefault();
    }

    /// <summary>Returns the optimal string alignment distance (Damerau, Levenshtein).</summary>
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
