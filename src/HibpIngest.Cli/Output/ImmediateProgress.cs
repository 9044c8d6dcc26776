namespace HibpIngest.Cli.Output;

/// <summary>Reports progress on the calling thread, so that a report is never late; Progress&lt;T&gt; posts it.</summary>
internal sealed class ImmediateProgress<T>(Action<T> show) : IProgress<T>
{
    public void Report(T value) => show(value);
}
