using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using HibpIngest.Pipeline.Recovery;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests blob names with characters that XML doesn't allow, so that the emulator can't list their containers by itself.</summary>
public sealed class OddNamesTests
{
    private const string Bad = "bad\u0001\u001f.zip";
    private const string BadFolder = "dir\u0002/Adobe.zip";
    private const string Noncharacter = "c\uFFFE.csv";

    [Fact]
    public async Task Blobs_with_control_characters_in_their_names_are_refused_once_and_the_others_are_loaded()
    {
        await using var rig = await PipelineRig.StartAsync();
        await DropAsync(rig, "Alpha.zip", Bad, BadFolder, Noncharacter, "bad\u0001.png", "Zeta.zip");
        await rig.RunToEndAsync();
        await rig.Context.SweepToEndAsync();

        var loads = await rig.LoadsAsync();
        Assert.Equal(
            ["Alpha.zip", "Zeta.zip", Bad, Noncharacter, BadFolder],
            loads.Select(load => load.Blob.Name).Order(StringComparer.Ordinal));
        foreach (var load in loads)
            Assert.Equal(load.Breach is "Alpha" or "Zeta" ? LoadState.Done : LoadState.Failed, load.State);
        Assert.Contains(
            @"'bad\u0001\u001F.zip': a breach's name and its folders must not contain control characters",
            loads.Single(load => load.Blob.Name == Bad).Error, StringComparison.Ordinal);
        Assert.Contains(@"'dir\u0002/Adobe.zip'", loads.Single(load => load.Blob.Name == BadFolder).Error, StringComparison.Ordinal);
        Assert.Contains(@"'c\uFFFE.csv'", loads.Single(load => load.Blob.Name == Noncharacter).Error, StringComparison.Ordinal);
        Assert.Equal(0, await rig.OpenContext().Get<BlobScan>().RunAsync(TimeSpan.Zero, None));
        await rig.AssertQueuesEmptyAsync();
    }

    [Fact]
    public async Task Reconcile_starts_the_remaining_blobs_when_a_name_has_control_characters()
    {
        await using var rig = await PipelineRig.StartAsync();
        await DropAsync(rig, "Alpha.zip");
        await rig.RunToEndAsync();
        var backup = await rig.BackUpAsync("before");
        await DropAsync(rig, Bad, "Zeta.zip");
        await rig.RunToEndAsync();
        await rig.RestoreAsync(backup);
        await rig.OpenContext().ReconcileAsync();
        var restored = rig.OpenContext();
        await PipelineRig.RunToEndAsync(restored);
        var loads = await restored.Database.ListLoadsAsync(null, None);
        Assert.Equal(["Alpha.zip", "Zeta.zip", Bad], loads.Select(load => load.Blob.Name).Order(StringComparer.Ordinal));
    }

    [Fact]
    public async Task Listing_returns_every_name_whatever_character_a_page_ends_with()
    {
        await using var rig = await PipelineRig.StartAsync();
        string[] names = ["a.zip", "a\u0001\u001f.zip", "a\u000b", "b\uFFFF.zip", "b\uFFFFz", "c&lt;\t\n\r%41.zip", "d"];
        await DropAsync(rig, names);
        var container = new BlobContainerClient(rig.Connection, "breach");
        var listed = new List<string>();
        await foreach (var page in container.GetBlobsAsync(BlobTraits.None, BlobStates.None, null, None).AsPages(pageSizeHint: 2))
        {
            listed.AddRange(page.Values.Select(blob => blob.Name));
            Assert.InRange(listed.Count, 0, 2 * names.Length);
        }
        Assert.Equal(names.Order(StringComparer.Ordinal), listed);
    }

    private static async Task DropAsync(PipelineRig rig, params string[] names)
    {
        var container = new BlobContainerClient(rig.Connection, "breach");
        foreach (var name in names)
        {
            var content = BreachFiles.FormatOf(name) == BreachFormat.Zip
                ? PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 10))) : Encoding.ASCII.GetBytes("one@example.com");
            await container.GetBlobClient(name).UploadAsync(new BinaryData(content), overwrite: true, None);
        }
    }
}
