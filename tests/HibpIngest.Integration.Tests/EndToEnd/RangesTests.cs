using HibpIngest.Benchmarks;
using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>The short form of the benchmark <c>-- ranges</c>: what they cost a slice.</summary>
public sealed class RangesTests(ITestOutputHelper output)
{
    [Fact]
    public async Task The_hash_of_an_account_allocates_nothing_and_what_ranges_cost_a_slice_is_measured()
    {
        using var folder = new TemporaryFolder();
        var result = await RangesBenchmark.RunAsync(accounts: 40_000, pairs: 3, folder.Path);
        output.WriteLine($"{result}");
        Assert.Equal(0, result.Bytes);
        // No limit on the times: beside other tests they are the machine's. The benchmark holds them, on a quiet one.
        Assert.True(result is { Times: > 0, Nanoseconds: > 0 }, $"{result}");
    }
}
