namespace HibpIngest.Tests.Telemetry;

/// <summary>Tests that listen to this process's spans and instruments, or need that nothing does: they run when no others run.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class ListeningAlone
{
    public const string Name = "listening alone";
}
