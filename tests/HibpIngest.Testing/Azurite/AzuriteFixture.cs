using HibpIngest.Hosting.Local;

namespace HibpIngest.Testing;

/// <summary>
/// One emulator for the whole test run, in memory, on free ports, started by the first test that asks. Each
/// test takes a storage account of its own from it, so tests see nothing of each other's containers, queues and
/// tables.
/// </summary>
public static class AzuriteFixture
{
    /// <summary>Accounts that tests may take in one run.</summary>
    private const int Accounts = 1_000;

    private static readonly Lazy<Task<AzuriteEmulator>> Shared = new(
        () => AzuriteEmulator.StartAsync(new AzuriteOptions { ExtraAccounts = Accounts }, CancellationToken.None));
    private static int _taken;

    /// <summary>Connection string of a storage account that nobody else uses in this run.</summary>
    public static async Task<string> NewAccountAsync()
    {
        var emulator = await Shared.Value;
        var number = Interlocked.Increment(ref _taken);
        if (number > Accounts)
            throw new InvalidOperationException($"more than {Accounts} accounts taken; raise {nameof(Accounts)}");
        return emulator.GetConnectionString(number);
    }
}
