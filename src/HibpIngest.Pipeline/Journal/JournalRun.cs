namespace HibpIngest.Pipeline.Journal;

/// <summary>
/// A load that is being journaled. It takes no lease: a concurrent second run finds the blobs that the first has written.
/// </summary>
public sealed class JournalRun(JournalEntry entry) : IStageWork
{
    /// <summary>The entry as it was when the message was claimed.</summary>
    public JournalEntry Entry { get; } = entry;

    public long LoadId => Entry.Load;

    public string Breach => Entry.Breach.Name;

    /// <inheritdoc/>
    /// <remarks>Not counted: Sweep sends the message again.</remarks>
    public int Attempts => 0;

    public bool IsLost => false;

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;
}
