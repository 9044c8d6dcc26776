using HibpIngest.Cli.Emulator;

namespace HibpIngest.Testing;

/// <summary>Emulators in memory for the whole run, started when first needed. Each test gets a storage account of its own.</summary>
public static class AzuriteFixture
{
    /// <summary>An emulator uses one core: with only one, it was busy for nine tenths of a run while the other core waited.</summary>
    private const int Concurrent = 2;

    /// <summary>
    /// Storage accounts per emulator. It keeps what was written to each in memory, and after a whole run spent a third of its time on
    /// collecting garbage; so others take over. It is not stopped, since tests may still use its accounts. With fewer accounts, more
    /// emulators start, each of which takes some five seconds of CPU time until its code is optimized.
    /// </summary>
    private const int Accounts = 120;

    private static readonly ConcurrentDictionary<int, Lazy<Task<AzuriteEmulator>>> Shared = new();
    private static int _taken;

    /// <summary>Returns the connection string of a storage account that nothing else uses in this run.</summary>
    public static async Task<string> NewAccountAsync()
    {
        var taken = Interlocked.Increment(ref _taken) - 1;
        var (generation, place) = Math.DivRem(taken, Accounts * Concurrent);
        var emulator = await Shared.GetOrAdd((generation * Concurrent) + (place % Concurrent), _ => new(StartAsync)).Value;
        return emulator.GetConnectionString((place / Concurrent) + 1);
    }

    private static Task<AzuriteEmulator> StartAsync() =>
        AzuriteEmulator.StartAsync(new AzuriteOptions { ExtraAccounts = Accounts }, CancellationToken.None);
}
