using System.Text;
using HibpIngest.Breaches;

namespace HibpIngest.Tests.Sql;

public sealed partial class SqliteBreachDatabaseTests
{
    [Fact]
    public async Task Who_was_forgotten_is_in_no_byte_of_the_file_nor_of_its_log()
    {
        const string Gone = "fm2345@nowhere.example";
        // Enough for pages that are divided, in the order that divides them most.
        var random = new Random(4711);
        var subscriptions = Enumerable.Range(0, 5_000)
            .Select(i => new Subscription($"fm{i}@nowhere.example", i % 3 == 0 ? "d.example" : null))
            .Append(new Subscription(Gone, "d.example")).ToArray();
        random.Shuffle(subscriptions);
        foreach (var chunk in subscriptions.Chunk(100))
            await Database.ImportSubscribersAsync(chunk, null, None);
        await CheckAsync(holds: true);

        var key = SuppressionKey.Parse(Convert.ToBase64String(new byte[32]))!;
        var removed = await Database.RemoveSubscribersAsync(
            [new(Gone, null, new Suppression(key.HashOf(Gone), SuppressionReason.Forgotten, Now))], key.Check, erase: true, None);
        Assert.True(removed.Subscriptions > 0);
        await CheckAsync(holds: false);
        Assert.Equal(subscriptions.Length - removed.Subscriptions, (await ListAsync()).Count);
        Assert.Equal("ok", await ScalarAsync("PRAGMA integrity_check"));
        Assert.Null(await ScalarAsync("SELECT 1 FROM pragma_foreign_key_check()"));

        async Task CheckAsync(bool holds)
        {
            var bytes = new List<byte>();
            foreach (var file in Directory.GetFiles(_folder))
            {
                await using var content = new FileStream(file, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);
                using var copy = new MemoryStream();
                await content.CopyToAsync(copy);
                bytes.AddRange(copy.ToArray());
            }
            Assert.Equal(holds, bytes.ToArray().AsSpan().IndexOf(Encoding.UTF8.GetBytes(Gone)) >= 0);
            Assert.True(bytes.ToArray().AsSpan().IndexOf("fm2346@nowhere.example"u8) >= 0);
        }
    }
}
