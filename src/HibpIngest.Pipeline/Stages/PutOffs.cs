namespace HibpIngest.Pipeline;

/// <summary>
/// Tells of every message that is put off because a store is down, so that a one-off run can stop where waiting is no use
/// (<see cref="Errors.StoreFullException"/>), and a host can say what it waits for.
/// </summary>
public sealed class PutOffs
{
    private Action<PutOff>? _told;

    /// <summary>Says who is told of each from now on, by many threads at once.</summary>
    public void Follow(Action<PutOff> told) => _told += told;

    internal void Note(PutOff put) => _told?.Invoke(put);
}
