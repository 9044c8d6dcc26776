namespace HibpIngest.Testing;

public abstract class PrefixBlobsContract
{
    /// <summary>Returns a store that hasn't been created.</summary>
    protected abstract Task<IPrefixBlobs> NewStoreAsync();

    [Fact]
    public async Task Prefixes_are_overwritten_only_at_the_version_read_and_a_client_without_any_reads_as_null()
    {
        var blobs = await NewStoreAsync();
        Assert.Null(await blobs.ReadAsync(7, None));
        await blobs.DeleteAsync(7, None);
        await blobs.CreateAsync(None);
        await blobs.CreateAsync(None);
        Assert.Null(await blobs.ReadAsync(7, None));
        await blobs.DeleteAsync(7, None);

        var prefixes = new PrefixBitmap();
        prefixes.Set(0x0A1B2C, true);
        var first = await blobs.WriteAsync(7, prefixes, null, None);
        Assert.NotNull(first);
        // A second writer that assumes no blob exists.
        Assert.Null(await blobs.WriteAsync(7, new PrefixBitmap(), null, None));
        var read = await blobs.ReadAsync(7, None);
        Assert.Equal((first, true, 1), (read!.Version, read.Prefixes.Contains(0x0A1B2C), read.Prefixes.Count));
        prefixes.Set(0xFFFFFF, true);
        var second = await blobs.WriteAsync(7, prefixes, first, None);
        Assert.NotNull(second);
        Assert.NotEqual(first, second);
        Assert.Null(await blobs.WriteAsync(7, new PrefixBitmap(), first, None));
        Assert.Equal(prefixes.Bytes.ToArray(), (await blobs.ReadAsync(7, None))!.Prefixes.Bytes.ToArray());
        // Other clients' prefixes are separate.
        Assert.Null(await blobs.ReadAsync(8, None));
        await blobs.DeleteAsync(7, None);
        Assert.Null(await blobs.ReadAsync(7, None));
        Assert.Null(await blobs.WriteAsync(7, prefixes, second, None));
    }
}
