namespace HibpIngest.Benchmarks;

/// <summary>Repeats the published load of 100 million accounts, or a share of it, with a <see cref="LargeLoad"/>.</summary>
internal static class HundredMillionBenchmark
{
    private const int Accounts = 100_000_000;
    private const double MaxSeconds = 45 * 60;
    private const double MaxMiB = 4_096;

    /// <summary>Prints the figures; returns false if a limit is missed.</summary>
    /// <param name="percent">Share of the 100 million; 1 to 100.</param>
    /// <param name="kills">Number of kills, for whose leases it waits; then the time has no limit.</param>
    /// <param name="server">Connection string of an empty database of a T-SQL server; null: SQLite.</param>
    public static async Task<bool> RunAsync(string folder, int percent, int kills, string? server)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(percent, 1);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(percent, 100);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(kills, LargeLoad.MaxKills);
        var accounts = Accounts / 100 * percent;
        var found = await new LargeLoad(folder, accounts, isTimePassed: false, Console.Error.WriteLine, server).RunAsync(kills);
        Console.WriteLine("| accounts | kills | copied, s | in tables, s | done, s | requests | entities | CPU, s | emulator's CPU, s "
            + "| table server's CPU, s | peak, MiB | database, MB | emulator's data, MB |");
        Console.WriteLine("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        Console.WriteLine($"| {accounts:N0} | {kills} | {found.Copied:F0} | {found.Upserted:F0} | {found.Done:F0} | {found.Requests:N0} "
            + $"| {found.Entities:N0} | {found.Cpu:F0} | {found.EmulatorCpu:F0} | {found.ServerCpu:F0} | {found.PeakMiB:N0} "
            + $"| {found.DatabaseMB:N0} | {found.EmulatorMB:N0} |");
        return found.PeakMiB < MaxMiB && (kills > 0 || found.Done <= MaxSeconds * percent / 100);
    }
}
