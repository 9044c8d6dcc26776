using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests that the register's last entry decides whether an address is suppressed, whatever the database says.</summary>
public sealed class SuppressionTests
{
    private const string Email = "somebody@example.com";
    private static readonly SuppressionKey Key = KeyOf(1);

    [Fact]
    public async Task Resubscribed_address_is_not_suppressed_after_a_restore()
    {
        await using var rig = await PipelineRig.StartAsync();
        var context = rig.Context with { SuppressionKey = Key };
        await context.Get<SubscriberOperations>().RemoveAsync([Email], [], SuppressionReason.Unsubscribed, None);
        var backup = await rig.BackUpAsync("before");
        Subscription[] own = [new(Email, null)];
        Assert.Equal(new SubscribersImported(1, 0), await context.Get<SubscriberOperations>().AddAsync(own, again: true, None));

        await rig.RestoreAsync(backup);
        var restored = rig.OpenContext() with { SuppressionKey = Key };
        Assert.Equal(0, await restored.Get<ApplySuppressions>().RunAsync(None));
        Assert.Equal(new SubscribersImported(1, 0), await restored.Database.ImportSubscribersAsync(own, Key, None));
    }

    [Fact]
    public async Task Resubscribing_lifts_a_removal_that_did_not_reach_the_database()
    {
        await using var rig = await PipelineRig.StartAsync();
        var context = rig.Context with { SuppressionKey = Key };
        await rig.ImportAsync((Email, null));
        // A removal gets this far while the database is down.
        await context.Register.AddSuppressionKeyCheckAsync(Key.Check, None);
        await context.Register.AppendSuppressionAsync(
            new Suppression(Key.HashOf(Email), SuppressionReason.Unsubscribed, rig.Time.GetUtcNow()), lifted: false, None);

        await context.Get<SubscriberOperations>().AddAsync([new(Email, null)], again: true, None);
        Assert.Equal(0, await context.Get<ApplySuppressions>().RunAsync(None)); // as the next start does
        Assert.Equal([Email], await context.Database.ListSubscribersAsync(None).Select(one => one.Email).ToListAsync(None));
    }

    [Fact]
    public async Task Bounce_does_not_weaken_a_forgotten_address_and_another_key_is_refused()
    {
        await using var rig = await PipelineRig.StartAsync();
        var operations = (rig.Context with { SuppressionKey = Key }).Get<SubscriberOperations>();
        await operations.RemoveAsync([Email], [], SuppressionReason.Forgotten, None);
        await operations.RemoveAsync([Email], [], SuppressionReason.Bounced, None);
        var registered = Assert.Single(await rig.Context.Register.ListSuppressionsAsync(None));
        Assert.Equal((Key.HashOf(Email), SuppressionReason.Forgotten), (registered.Hash, registered.Reason));
        Assert.Equal(SuppressionReason.Forgotten, Assert.Single(await rig.Context.Database.ListSuppressionsAsync(None)).Reason);

        await Assert.ThrowsAsync<StoreMismatchException>(() => (rig.Context with { SuppressionKey = KeyOf(2) })
            .Get<SubscriberOperations>().RemoveAsync(["other@example.com"], [], SuppressionReason.Bounced, None));
        Assert.Single(await rig.Context.Register.ListSuppressionsAsync(None));
    }

    private static SuppressionKey KeyOf(byte fill)
    {
        var bytes = new byte[32];
        Array.Fill(bytes, fill);
        return SuppressionKey.Parse(Convert.ToBase64String(bytes))!;
    }
}
