using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>A load that is being logged. It has no lease: of two that do so at once the second finds what the first has written.</summary>
public sealed class LogRun(LoadLogEntry entry) : IStageWork
{
    /// <summary>As it was when it was taken on.</summary>
    public LoadLogEntry Entry { get; } = entry;

    public long LoadId => Entry.Load;

    public string Breach => Entry.Breach.Name;

    /// <inheritdoc/>
    /// <remarks>They don't count: Sweep sends the message again.</remarks>
    public int Attempts => 0;

    public bool IsLost => false;

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;
}
