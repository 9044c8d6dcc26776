namespace HibpIngest.Accounts;

/// <summary>Readers that an address is hidden from, at its owner's request.</summary>
public enum OptOutLevel
{
    None,

    /// <summary>
    /// Hidden from lookups, ranges, searches and callbacks. The verified owner of the address or of its domain still sees it.
    /// </summary>
    Public,

    /// <summary>Hidden from every reader; the address gets no mail.</summary>
    All,
}

public sealed record OptOut(Account Account, OptOutLevel Level)
{
    /// <summary>Property of an account's entity, and of that of its hash, which upserts neither read nor change.</summary>
    public const string Property = "o";

    // These come first in the list of an account's marks, which are positive: a reader gets both by one read.
    private const int PublicMark = -1;
    private const int AllMark = -2;

    /// <summary>Value of <see cref="Property"/>.</summary>
    public static string ValueOf(OptOutLevel level) => level == OptOutLevel.None ? "" : level.ToString().ToLowerInvariant();

    /// <summary>Returns the mark of a value of <see cref="Property"/>; 0: none. A value of a newer program hides from all.</summary>
    public static int MarkOf(string? value) => value switch { null or "" => 0, "public" => PublicMark, _ => AllMark };

    /// <param name="marks">Marks of an account or hash, ascending.</param>
    /// <param name="fromOwner">True if the reader is the verified owner of the address or of its domain.</param>
    public static bool Hides(IReadOnlyList<int> marks, bool fromOwner) =>
        marks.Count > 0 && (fromOwner ? marks[0] <= AllMark : marks[0] < 0);
}
