using System.Runtime.InteropServices;

namespace HibpIngest.Cli.Session;

/// <summary>Turns Ctrl+C and SIGTERM into cancellation: the first asks the command to stop, a second ends the process at once.</summary>
internal sealed class StopSignals : IDisposable
{
    public const int ByInterrupt = 130;
    public const int ByTermination = 143;

    private readonly CancellationTokenSource _stop = new();
    private readonly PosixSignalRegistration[] _registrations;

    public StopSignals() => _registrations =
    [
        PosixSignalRegistration.Create(PosixSignal.SIGINT, signal => Stop(signal, ByInterrupt)),
        PosixSignalRegistration.Create(PosixSignal.SIGTERM, signal => Stop(signal, ByTermination)),
    ];

    public CancellationToken Token => _stop.Token;

    public int ExitCode { get; private set; }

    public void Dispose()
    {
        foreach (var registration in _registrations)
            registration.Dispose();
        _stop.Dispose();
    }

    private void Stop(PosixSignalContext signal, int exitCode)
    {
        if (_stop.IsCancellationRequested)
            return;
        signal.Cancel = true;
        ExitCode = exitCode;
        _stop.Cancel();
    }
}
