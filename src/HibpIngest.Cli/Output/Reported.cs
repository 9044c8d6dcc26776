namespace HibpIngest.Cli.Output;

/// <summary>Progress on the thread that reports it, so that a report is never late.</summary>
internal sealed class Reported<T>(Action<T> show) : IProgress<T>
{
    public void Report(T value) => show(value);
}
