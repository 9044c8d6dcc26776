using HibpIngest.Hosting;
using HibpIngest.Pipeline;

namespace HibpIngest.Functions;

/// <summary>Runs all sweeps at once, since none may wait for the stores of another, and sets the stores up where there is work.</summary>
public sealed class AppSweep(Sweep sweep, StoreSetup setup, PasswordWork passwords, AccessWork access, PipelineOptions options)
{
    public async Task RunAsync(CancellationToken cancellationToken)
    {
        var others = Task.WhenAll(
            passwords.SweepAsync(options.SweepBlobAge, cancellationToken), access.SweepAsync(cancellationToken));
        try
        {
            if (!await setup.IsAtRestAsync(cancellationToken))
                await setup.EnsureOnceAsync(cancellationToken);
            await sweep.RunAsync(cancellationToken);
        }
        finally
        {
            await others;
        }
    }
}
