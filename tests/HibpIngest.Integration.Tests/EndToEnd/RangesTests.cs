using HibpIngest.Benchmarks;
using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>The short form of the benchmark <c>-- ranges</c>: what they cost a slice.</summary>
public sealed class RangesTests(ITestOutputHelper output)
{
    [Fact]
    public async Task Ranges_cost_a_slice_about_as_much_again_as_its_accounts()
    {
        using var folder = new TemporaryFolder();
        var result = await RangesBenchmark.RunAsync(accounts: 40_000, pairs: 3, folder.Path);
        output.WriteLine($"{result}");
        Assert.Equal(0, result.Bytes);
        // What the benchmark measures on a quiet machine is less than 2.2, and less than 600.
        Assert.InRange(result.Times, 1, 3.3);
        Assert.InRange(result.Nanoseconds, 50, 1_800);
    }
}
