namespace HibpIngest.Stores;

/// <param name="IsDone">The slice is recorded as done, and its lease has ended.</param>
/// <param name="Layouts">Not null: the set of layouts has changed since the attempt started, and the slice must be repeated
/// with this set, under the same lease. Null and not done: the owner had lost the slice.</param>
public sealed record SliceCompletion(bool IsDone, LayoutSet? Layouts)
{
    public static SliceCompletion Done { get; } = new(true, null);

    /// <summary>Nothing changed: another owner had the slice, or it was done.</summary>
    public static SliceCompletion Lost { get; } = new(false, null);
}
