namespace HibpIngest.Integration.Tests.Telemetry;

/// <summary>Tests that listen to this process's spans and instruments, or require that none do: they run when no others run.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class ListeningAlone
{
    public const string Name = "listening alone";
}
