namespace HibpIngest.Integration.Tests.Telemetry;

/// <summary>Collects the spans that the pipeline ends in this process until it is disposed.</summary>
internal sealed class CollectedSpans : IDisposable
{
    private readonly ConcurrentQueue<Activity> _ended = new();
    private readonly ActivityListener _listener;

    public CollectedSpans()
    {
        _listener = new ActivityListener
        {
            ShouldListenTo = source => source.Name == TelemetryNames.Source,
            Sample = (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllDataAndRecorded,
            ActivityStopped = _ended.Enqueue,
        };
        ActivitySource.AddActivityListener(_listener);
    }

    public IReadOnlyList<Activity> All => [.. _ended];

    /// <summary>Returns the spans of one name, in the order of their ends.</summary>
    public IReadOnlyList<Activity> Of(string name) => [.. _ended.Where(span => span.OperationName == name)];

    public void Dispose() => _listener.Dispose();
}
