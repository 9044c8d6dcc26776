namespace HibpIngest.Stores;

/// <param name="IsDone">It is recorded as done, and its lease has ended.</param>
/// <param name="Layouts">
/// Not null: the set of layouts was changed since the try began, and it is to be done again in this one, under
/// the same lease. Null, and not done: it was not this owner's any more.
/// </param>
public sealed record SliceCompletion(bool IsDone, LayoutSet? Layouts)
{
    public static SliceCompletion Done { get; } = new(true, null);

    /// <summary>Nothing was changed: it was somebody else's, or done.</summary>
    public static SliceCompletion Lost { get; } = new(false, null);
}
