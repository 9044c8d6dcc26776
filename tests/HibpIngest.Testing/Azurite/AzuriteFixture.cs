using HibpIngest.Cli.Emulator;

namespace HibpIngest.Testing;

/// <summary>
/// Emulators for the whole test run: in memory, on free ports, started by the first test that needs one. Each test
/// gets its own storage account, so tests don't see each other's containers, queues and tables.
/// </summary>
public static class AzuriteFixture
{
    /// <summary>Storage accounts per emulator and run.</summary>
    private const int Accounts = 1_000;

    /// <summary>
    /// An emulator uses one core: with only one of them, it was busy for nine tenths of a run while the other core
    /// waited.
    /// </summary>
    private static readonly Lazy<Task<AzuriteEmulator>>[] Shared = [Start(), Start()];
    private static int _taken;

    /// <summary>Returns the connection string of a storage account that nothing else uses in this run.</summary>
    public static async Task<string> NewAccountAsync()
    {
        var taken = Interlocked.Increment(ref _taken) - 1;
        if (taken >= Accounts * Shared.Length)
            throw new InvalidOperationException($"more than {Accounts} accounts taken of each; raise {nameof(Accounts)}");
        return (await Shared[taken % Shared.Length].Value).GetConnectionString((taken / Shared.Length) + 1);
    }

    private static Lazy<Task<AzuriteEmulator>> Start() => new(
        () => AzuriteEmulator.StartAsync(new AzuriteOptions { ExtraAccounts = Accounts }, CancellationToken.None));
}
