using HibpIngest.Pipeline.Settings;
using HibpIngest.Pipeline.Sweeping;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;

namespace HibpIngest.Testing;

/// <summary>The pipeline's options, grouped by consumer; a test may change them at any time.</summary>
internal sealed class TestOptions
{
    public IngestOptions Ingest { get; init; } = new();

    public UpsertOptions Upsert { get; init; } = new();

    public MailOptions Mail { get; init; } = new();

    public CallbackOptions Callbacks { get; init; } = new();

    public JournalOptions Journal { get; init; } = new();

    public RetryOptions Retry { get; init; } = new();

    public SweepOptions Sweep { get; init; } = new();

    public SiteOptions Site { get; init; } = new();

    public IServiceCollection AddTo(IServiceCollection services) => services
        .AddSingleton(Options.Create(Ingest)).AddSingleton(Options.Create(Upsert)).AddSingleton(Options.Create(Mail))
        .AddSingleton(Options.Create(Callbacks)).AddSingleton(Options.Create(Journal)).AddSingleton(Options.Create(Retry))
        .AddSingleton(Options.Create(Sweep)).AddSingleton(Options.Create(Site));
}
