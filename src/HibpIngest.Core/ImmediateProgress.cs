namespace HibpIngest;

/// <summary>Reports progress on the calling thread, so that a report is never late; Progress&lt;T&gt; posts it.</summary>
public sealed class ImmediateProgress<T>(Action<T> report) : IProgress<T>
{
    public void Report(T value) => report(value);
}
