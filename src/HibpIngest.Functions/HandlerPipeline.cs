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
    private readonly OpenPipeline? _open;
    private readonly Parts? _parts;
    private HostSigns? _signs;
    private readonly string _error;

    private HandlerPipeline(OpenPipeline? open, PasswordWork? passwords, AccessWork? access, string error)
    {
        (_open, _error) = (open, error);
        if (open is null)
            return;
        var setup = open.Context.NewStoreSetup();
        _parts = new Parts(setup, open.Context.NewDispatcher(setup), open.Context.NewSweep(), passwords!, access!);
    }

    /// <exception cref="BadInputException">The settings are wrong.</exception>
    public PipelineContext Context => _open?.Context ?? throw new BadInputException(_error);

    /// <inheritdoc cref="Context"/>
    public StoreSetup Setup => Required.Setup;

    /// <inheritdoc cref="Context"/>
    public PipelineDispatcher Dispatcher => Required.Dispatcher;

    /// <inheritdoc cref="Context"/>
    public Sweep Sweep => Required.Sweep;

    /// <inheritdoc cref="Context"/>
    public PasswordWork Passwords => Required.Passwords;

    /// <inheritdoc cref="Context"/>
    public AccessWork Access => Required.Access;

    private Parts Required => _parts ?? throw new BadInputException(_error);

    /// <summary>Reads the settings and opens the stores; calls none.</summary>
    /// <param name="environment">The app settings.</param>
    /// <param name="time">The clock.</param>
    /// <param name="logs">Where everything is logged.</param>
    public static HandlerPipeline Open(IDictionary environment, TimeProvider time, HandlerLogs logs)
    {
        var troubles = new HostTroubles(time);
        PasswordWork? passwords = null;
        AccessWork? access = null;
        var (open, error) = HandlerOpening.Open(environment, logs, HandlerSettings.Read, settings =>
        {
            var pipeline = PipelineFactory.Open(settings, time, logs.Factory, troubles.Note);
            passwords = PasswordWork.Open(
                pipeline.Account, settings.Passwords, settings.Options.WebUrl, time, logs.Factory);
            access = AccessWork.Open(pipeline.Account, settings.Options, time, logs.Factory);
            return pipeline;
        });
        var handler = new HandlerPipeline(open, passwords, access, error);
        if (open is not null)
        {
            handler._signs = new HostSigns(open.Context.Signs, HostSign.Everything, troubles, time);
            handler._signs.Start();
        }
        return handler;
    }

    public async ValueTask DisposeAsync()
    {
        if (_signs is not null)
            await _signs.DisposeAsync();
        _parts?.Passwords.Dispose();
        _parts?.Access.Dispose();
        if (_open is not null)
            await _open.DisposeAsync();
    }

    private sealed record Parts(
        StoreSetup Setup, PipelineDispatcher Dispatcher, Sweep Sweep, PasswordWork Passwords, AccessWork Access);
}
