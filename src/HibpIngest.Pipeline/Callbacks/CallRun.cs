namespace HibpIngest.Pipeline.Callbacks;

/// <summary>
/// A slice that is being looked through. It takes no lease: if two deliveries run concurrently, the second finds the result recorded.
/// </summary>
public sealed class CallRun(CallSlice slice) : IStageWork
{
    /// <summary>The slice as it was when the message was claimed.</summary>
    public CallSlice Slice { get; } = slice;

    /// <summary>Whether the slice's rows are being read: a failure now is caused by them.</summary>
    internal bool IsReading { get; set; }

    public long LoadId => Slice.Slice.Load;

    public string Breach => Slice.Breach.Name;

    /// <inheritdoc/>
    /// <remarks>Not counted: Sweep sends the message again.</remarks>
    public int Attempts => 0;

    public bool IsLost => false;

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;
}
