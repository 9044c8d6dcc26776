using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;

namespace HibpIngest.Integration.Tests.Functions;

/// <summary>Tests uploaded Pwned Passwords files under both hosts, and what an operator sees of them.</summary>
public sealed class PasswordFunctionTests
{
    private static readonly string[] Prefixes = ["00000", "00001", "7FFFF", "C0000", "C0FFF", "FFFFF"];

    [Fact]
    public async Task Functions_import_a_dropped_file_and_report_why_another_is_refused()
    {
        await using var host = await FunctionsHost.StartAsync();
        (await host.DropPasswordsAsync("one/hashes.txt", Lines(51))).AssertDone();
        Assert.Equal("one", (await StatusAsync(host)).List("imports")[0].Text("release"));
        var counts = await host.PumpAsync("ImportPasswords");
        Assert.Equal((4, 0), counts["ImportPasswords"]);

        (await host.DropPasswordsAsync("two/hashes.txt.gz", [0x1F, 0x8B, 8, 0])).AssertDone();
        (await host.InvokeTimerAsync()).AssertDone();
        var status = await StatusAsync(host);
        var part = status.List("releases")[0].List("parts")[0];
        Assert.Equal(("sha1", Prefixes.Length * 20), (part.Text("mode"), part.Number("hashes")));
        Assert.Equal("one", status.GetProperty("served").Text("release"));
        Assert.Empty(status.List("imports"));
        Assert.Contains("compressed", status.List("refused")[0].Text("reason"), StringComparison.Ordinal);
        (await host.HibpAsync("passwords", "status")).Printed("Not imported");

        // A message for an unknown plan, and an invalid one.
        (await host.InvokeMessageAsync(
            "ImportPasswords", """{"release":"one","mode":"sha1","plan":"0123456789abcdef","group":7}""")).AssertDone();
        Assert.Contains(
            "is not the JSON of ImportMessage", (await host.InvokeMessageAsync("ImportPasswords", """{"load":1}""")).AssertFailed(),
            StringComparison.Ordinal);
        await host.StopWorkerAsync();
        Assert.Contains("two/hashes.txt.gz", host.Worker.Said, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Import_of_a_stopped_local_host_is_completed_by_two_others()
    {
        await using var host = await FunctionsHost.StartAsync();
        await host.StopWorkerAsync();
        var drops = new BlobContainerClient(host.Storage, "passwords-import");
        await drops.CreateIfNotExistsAsync();
        await drops.UploadBlobAsync("hashes.txt", new BinaryData(Lines(52)));
        var imports = new BlobContainerClient(host.Storage, "passwords");
        await using (var first = await host.StartLocalHostAsync())
        {
            // As soon as there is a plan. (A killed host's messages would stay hidden for a minute and a half.)
            await Eventually.IsSoAsync(
                async () => await imports.ExistsAsync() && imports.GetBlobs(new GetBlobsOptions { Prefix = "imports/" }).Any());
            await first.TerminateAsync();
        }
        await using (await host.StartLocalHostAsync())
        await using (await host.StartLocalHostAsync())
            await Eventually.IsSoAsync(async () => !await drops.GetBlobClient("hashes.txt").ExistsAsync());
        var exported = Path.Combine(Path.GetDirectoryName(host.DatabaseFile)!, "exported.txt");
        (await host.HibpAsync("passwords", "export", exported)).Succeeded();
        Assert.Equal(Encoding.ASCII.GetString(Lines(52)), await File.ReadAllTextAsync(exported));
    }

    private static async Task<JsonElement> StatusAsync(FunctionsHost host) =>
        (await host.HibpAsync("passwords", "status", "--json")).Succeeded().Json;

    private static byte[] Lines(int seed)
    {
        var random = new Random(seed);
        return Encoding.ASCII.GetBytes(string.Concat(Prefixes.SelectMany(prefix => Enumerable.Range(0, 20)
            .Select(_ => $"{prefix}{random.GetHexString(35)}:{random.Next(1, 100_000)}\n").Order(StringComparer.Ordinal))));
    }
}
