using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// A slice that is being looked through. It has no lease: of two that do so at once, the second to record what it found finds it recorded.
/// </summary>
public sealed class CallRun(CallSlice slice) : IStageWork
{
    /// <summary>As it was when it was taken on.</summary>
    public CallSlice Slice { get; } = slice;

    /// <summary>Its rows are being read: what fails now is their fault.</summary>
    internal bool IsReading { get; set; }

    public long LoadId => Slice.Slice.Load;

    public string Breach => Slice.Breach.Name;

    /// <inheritdoc/>
    /// <remarks>They don't count: Sweep sends the message again.</remarks>
    public int Attempts => 0;

    public bool IsLost => false;

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;
}
