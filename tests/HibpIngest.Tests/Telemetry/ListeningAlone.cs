namespace HibpIngest.Tests.Telemetry;

/// <summary>
/// Collection of tests that listen to this process's spans and instruments, or require that nothing does. No other test
/// runs concurrently.
/// </summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class ListeningAlone
{
    public const string Name = "listening alone";
}
