using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Upsert;
using HibpIngest.Storage.Sql.Sqlite;
using Microsoft.Data.Sqlite;

namespace HibpIngest.Integration.Tests.Functions;

/// <summary>Tests that a permanently failed slice stops its load, and that each way of requeueing repairs and completes it.</summary>
public sealed class RequeueTests
{
    [Theory]
    [InlineData("hibp load requeue")]
    [InlineData("hibp poison requeue")]
    [InlineData("base64 by hand")]
    [InlineData("plain text by hand, under hibp run")]
    public async Task Failed_slice_is_completed_by_requeueing_it(string way)
    {
        await using var host = await FunctionsHost.StartAsync(
            new Dictionary<string, string> { ["HIBP_BATCHROWS"] = "200", ["HIBP_SLICEROWS"] = "100" });
        (await host.IngestAsync("X.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 500))))).AssertDone();
        await MoveRowAsync(host.DatabaseFile, away: true);
        var counts = await host.PumpAsync();

        // Four slices are done; one was tried five times.
        Assert.Equal((9, 5), counts["UpsertSlice"]);
        Assert.Equal((LoadState.Failed, 4, 1), await StateAsync(host));
        Assert.Equal(400, (await RawTable.ReadAccountsAsync(host.Storage, "accounts")).Count);
        var poison = Assert.Single((await host.Queue("breach-slices-poison").PeekMessagesAsync(32)).Value).Body.ToString();
        var message = WorkMessage.Parse<SliceMessage>(Encoding.UTF8.GetString(Convert.FromBase64String(poison)));
        Assert.Equal((1, 3), (message.Load, message.Slice));
        var listed = (await host.HibpAsync("slices", "X", "--failed", "--json")).Succeeded().Output;
        Assert.Contains("rows", listed, StringComparison.Ordinal);

        await MoveRowAsync(host.DatabaseFile, away: false);
        switch (way)
        {
            case "hibp load requeue":
                (await host.HibpAsync("requeue", "X", "--failed")).Succeeded();
                break;
            case "hibp poison requeue":
                (await host.HibpAsync("poison", "requeue", "breach-slices")).Succeeded();
                break;
            case "base64 by hand":
                await host.Queue("breach-slices").SendMessageAsync(Convert.ToBase64String("""{"version":1,"load":1,"slice":3}"""u8));
                break;
            default:
                await host.StopWorkerAsync();
                await host.Queue("breach-slices").SendMessageAsync("""{"version":1,"load":1,"slice":3}""");
                await using (await host.StartLocalHostAsync())
                    await Eventually.IsSoAsync(async () => (await StateAsync(host)).State == LoadState.Done);
                break;
        }
        if (!way.Contains("hibp run", StringComparison.Ordinal))
            await host.PumpAsync();

        Assert.Equal((LoadState.Done, 5, 0), await StateAsync(host));
        Assert.Equal(PipelineRig.Expected(0, 500).Order(), (await RawTable.ReadAccountsAsync(host.Storage, "accounts")).Keys.Order());
    }

    /// <summary>Hides the load's row at position 250, in the third slice, or restores it.</summary>
    private static async Task MoveRowAsync(string file, bool away)
    {
        const long Row = (1L << 40) | 250;
        await using var database = new SqliteConnection($"Data Source={file};Pooling=False");
        await database.OpenAsync();
        await using var move = database.CreateCommand();
        move.CommandText = "UPDATE rows SET id = -id WHERE id = $id";
        move.Parameters.AddWithValue("$id", away ? Row : -Row);
        Assert.Equal(1, await move.ExecuteNonQueryAsync());
    }

    private static async Task<(LoadState State, int Done, int Failed)> StateAsync(FunctionsHost host)
    {
        await using var database = SqliteBreachDatabase.Open(host.DatabaseFile, TimeProvider.System);
        var load = (await database.GetLoadAsync(new(1), CancellationToken.None))!;
        return (load.State, load.Slices.Done, load.Slices.Failed);
    }
}
