using System.Collections;
using HibpIngest.Errors;
using HibpIngest.Hosting;
using HibpIngest.Pipeline;
using HibpIngest.Stores;

namespace HibpIngest.Functions;

/// <summary>
/// What the functions work with, or what is wrong with the settings. Stores are set up by the first call that needs them, and by
/// the next where that failed.
/// </summary>
internal sealed class HandlerPipeline : IAsyncDisposable
{
    private readonly ServiceProvider? _services;
    private readonly HostSigns? _signs;
    private readonly string _error;

    private HandlerPipeline(ServiceProvider? services, HostSigns? signs, string error) =>
        (_services, _signs, _error) = (services, signs, error);

    /// <exception cref="BadInputException">The settings are wrong.</exception>
    public T Get<T>()
        where T : notnull => (_services ?? throw new BadInputException(_error)).GetRequiredService<T>();

    /// <summary>Reads the settings and opens the stores; calls none.</summary>
    /// <param name="environment">The app settings.</param>
    /// <param name="time">The clock.</param>
    /// <param name="logs">Where everything is logged.</param>
    public static HandlerPipeline Open(IDictionary environment, TimeProvider time, HandlerLogs logs)
    {
        var (services, error) = HandlerOpening.Open(environment, logs, HandlerSettings.Read, settings =>
        {
            var pipeline = new ServiceCollection().AddHibp(settings, time, logs.Factory, setsUpStores: true);
            // One of each: one ingest runs in a process at a time.
            pipeline.AddSingleton<PipelineDispatcher>().AddSingleton<Sweep>();
            var opened = pipeline.OpenHibp();
            _ = opened.GetRequiredService<PasswordWork>();
            return opened;
        });
        if (services is null)
            return new HandlerPipeline(null, null, error);
        var troubles = new HostTroubles(time);
        services.GetRequiredService<Deferrals>().Subscribe(troubles.Note);
        var signs = new HostSigns(services.GetRequiredService<IHostSigns>(), HostSign.Everything, troubles, time);
        signs.Start();
        return new HandlerPipeline(services, signs, "");
    }

    public async ValueTask DisposeAsync()
    {
        if (_signs is not null)
            await _signs.DisposeAsync();
        if (_services is not null)
            await _services.DisposeAsync();
    }
}
