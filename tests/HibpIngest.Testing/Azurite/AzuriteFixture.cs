using HibpIngest.Hosting.Local;

namespace HibpIngest.Testing;

/// <summary>
/// Emulators for the whole test run, in memory, on free ports, started by the first tests that ask. Each test takes
/// a storage account of its own from one of them, so tests see nothing of each other's containers, queues and tables.
/// </summary>
public static class AzuriteFixture
{
    /// <summary>Accounts that tests may take in one run from each.</summary>
    private const int Accounts = 1_000;

    /// <summary>Each works on one core: a single one was busy nine tenths of a run while the other core waited for it.</summary>
    private static readonly Lazy<Task<AzuriteEmulator>>[] Shared = [Start(), Start()];
    private static int _taken;

    /// <summary>Connection string of a storage account that nobody else uses in this run.</summary>
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
