using HibpIngest.Benchmarks;
using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Runs the short form of the benchmark <c>-- ranges</c>: what ranges cost a slice.</summary>
public sealed class RangesTests(ITestOutputHelper output)
{
    [Fact]
    public async Task The_hash_of_an_account_allocates_nothing_and_what_ranges_cost_a_slice_is_measured()
    {
        using var folder = new TemporaryFolder();
        var result = await RangesBenchmark.RunAsync(accounts: 40_000, pairs: 3, folder.Path);
        output.WriteLine($"{result}");
        Assert.Equal(0, result.Bytes);
        // No limits on the times, because other tests run concurrently. The benchmark checks them on a quiet machine.
        Assert.True(result is { Times: > 0, Nanoseconds: > 0 }, $"{result}");
    }
}
