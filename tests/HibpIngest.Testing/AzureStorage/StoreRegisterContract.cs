using HibpIngest.Breaches;
using HibpIngest.Stores;

namespace HibpIngest.Testing;

/// <summary>What a store register does, whoever provides it.</summary>
public abstract class StoreRegisterContract
{
    /// <summary>A register that exists and is empty.</summary>
    protected abstract Task<IStoreRegister> NewRegisterAsync();

    [Fact]
    public async Task The_first_identity_counts()
    {
        var register = await NewRegisterAsync();
        Assert.Null(await register.GetIdentityAsync(CancellationToken.None));
        var first = new StoreIdentity(Guid.NewGuid(), 1, 2);
        Assert.Equal(first, await register.AddIdentityAsync(first, CancellationToken.None));
        Assert.Equal(first, await register.AddIdentityAsync(new StoreIdentity(Guid.NewGuid(), 3, 4), CancellationToken.None));
        await register.CreateAsync(CancellationToken.None);
        Assert.Equal(first, await register.GetIdentityAsync(CancellationToken.None));
    }

    [Fact]
    public async Task Identities_added_at_once_agree()
    {
        var register = await NewRegisterAsync();
        var agreed = await Task.WhenAll(
            Enumerable.Range(0, 8).Select(_ => register.AddIdentityAsync(new StoreIdentity(Guid.NewGuid(), 1, 1), CancellationToken.None)));
        Assert.Single(agreed.Distinct());
    }

    [Fact]
    public async Task A_mark_is_cleared_only_in_the_version_read()
    {
        var register = await NewRegisterAsync();
        await register.MarkOpenAsync(7, CancellationToken.None);
        await register.MarkOpenAsync(12, CancellationToken.None);
        var open = await register.ListOpenAsync(CancellationToken.None);
        Assert.Equal([7, 12], open.Select(mark => mark.Load));

        await register.MarkOpenAsync(7, CancellationToken.None);
        await register.ClearOpenAsync(7, open[0].Version, CancellationToken.None);
        await register.ClearOpenAsync(12, open[1].Version, CancellationToken.None);
        await register.ClearOpenAsync(12, open[1].Version, CancellationToken.None);
        var left = Assert.Single(await register.ListOpenAsync(CancellationToken.None));
        Assert.Equal(7, left.Load);
        Assert.NotEqual(open[0].Version, left.Version);
        await register.ClearOpenAsync(7, left.Version, CancellationToken.None);
        Assert.Empty(await register.ListOpenAsync(CancellationToken.None));
    }

    [Fact]
    public async Task Each_writer_of_the_catalogue_has_a_mark_of_his_own()
    {
        var register = await NewRegisterAsync();
        Assert.Empty(await register.ListBehindAsync(CancellationToken.None));
        var noon = new DateTimeOffset(2026, 1, 2, 12, 0, 0, TimeSpan.Zero);
        var late = await register.MarkBehindAsync(noon, CancellationToken.None);
        var early = await register.MarkBehindAsync(noon.AddSeconds(-1), CancellationToken.None);
        Assert.Equal([(early, noon.AddSeconds(-1)), (late, noon)], await register.ListBehindAsync(CancellationToken.None));

        await register.ClearBehindAsync(early, CancellationToken.None);
        await register.ClearBehindAsync(early, CancellationToken.None);
        Assert.Equal([(late, noon)], await register.ListBehindAsync(CancellationToken.None));
        Assert.Empty(await register.ListOpenAsync(CancellationToken.None));
    }

    [Fact]
    public async Task A_receipt_is_for_one_version_of_one_name()
    {
        var register = await NewRegisterAsync();
        // A blob's name may hold what a table's key may not.
        var blob = new BlobVersion("dir/odd#?\\'name\u00e4.zip", "\"0x8D1\"");
        Assert.False(await register.HasReceiptAsync(blob, CancellationToken.None));
        await register.AddReceiptAsync(blob, CancellationToken.None);
        await register.AddReceiptAsync(blob, CancellationToken.None);
        Assert.True(await register.HasReceiptAsync(blob, CancellationToken.None));
        Assert.False(await register.HasReceiptAsync(blob with { ETag = "\"0x8D2\"" }, CancellationToken.None));
        Assert.False(await register.HasReceiptAsync(blob with { Name = "other.zip" }, CancellationToken.None));
        Assert.Empty(await register.ListOpenAsync(CancellationToken.None));
    }
}
