namespace HibpIngest.Testing;

public abstract class CatalogueBlobsContract
{
    // A breach's name may contain all of these characters.
    private const string OddName = "breach/odd #1? 50% & Ärger+x.json";

    /// <summary>Returns an existing, empty container.</summary>
    protected abstract Task<ICatalogueBlobs> NewContainerAsync();

    [Theory]
    [InlineData("ids.json")]
    [InlineData(OddName)]
    public async Task Stored_blob_is_read_listed_and_revalidated(string name)
    {
        var blobs = await NewContainerAsync();
        Assert.Null(await blobs.ReadAsync(name, null, None));
        Assert.Null(await blobs.ReadAsync(name, "\"0x1\"", None));
        Assert.True(await blobs.WriteAsync(name, 3, Content("a"), None));
        var read = (await blobs.ReadAsync(name, null, None))!;
        Assert.Equal((3, "a", false), (read.Version, Text(read), read.IsUnchanged));
        var entry = Assert.Single(await ListAsync(blobs, ""));
        Assert.Equal(new CatalogueEntry(name, 3, "tag a", read.ETag), entry);

        var again = (await blobs.ReadAsync(name, read.ETag, None))!;
        Assert.Equal((read.ETag, true, 0), (again.ETag, again.IsUnchanged, again.Bytes.Length));
        Assert.True(await blobs.WriteAsync(name, 4, Content("b"), None));
        var changed = (await blobs.ReadAsync(name, read.ETag, None))!;
        Assert.Equal((4, "b", false), (changed.Version, Text(changed), changed.IsUnchanged));
        Assert.NotEqual(read.ETag, changed.ETag);
    }

    [Fact]
    public async Task Identical_content_keeps_its_etag_and_an_older_version_is_refused()
    {
        var blobs = await NewContainerAsync();
        await blobs.WriteAsync("a", 3, Content("a"), None);
        var before = await ListAsync(blobs, "");
        Assert.True(await blobs.WriteAsync("a", 5, Content("a"), None));
        Assert.Equal(before, await ListAsync(blobs, ""));
        // Different content under the same version is written, because settings may have changed.
        Assert.True(await blobs.WriteAsync("a", 3, Content("b"), None));
        Assert.False(await blobs.WriteAsync("a", 2, Content("old"), None));
        Assert.Equal("b", Text((await blobs.ReadAsync("a", null, None))!));
    }

    [Fact]
    public async Task Newest_of_concurrent_writes_wins()
    {
        const int Writers = 12;
        var blobs = await NewContainerAsync();
        var written = await Task.WhenAll(
            Enumerable.Range(1, Writers).Select(version => blobs.WriteAsync("a", version, Content($"{version}"), None)));
        Assert.True(written[^1]);
        var read = (await blobs.ReadAsync("a", null, None))!;
        Assert.Equal((Writers, $"{Writers}"), (read.Version, Text(read)));
    }

    [Fact]
    public async Task Delete_removes_a_blob_only_at_the_listed_etag()
    {
        var blobs = await NewContainerAsync();
        await blobs.WriteAsync("breach/a.json", 1, Content("a"), None);
        await blobs.WriteAsync("logo/a.png", 1, Content("c"), None);
        var old = Assert.Single(await ListAsync(blobs, "breach/"));
        await blobs.WriteAsync("breach/a.json", 2, Content("b"), None);
        await blobs.DeleteAsync(old.Name, old.ETag, None);
        var entry = Assert.Single(await ListAsync(blobs, "breach/"));
        Assert.Equal(2, entry.Version);
        await blobs.DeleteAsync(entry.Name, entry.ETag, None);
        await blobs.DeleteAsync(entry.Name, entry.ETag, None);
        Assert.Equal(["logo/a.png"], (await ListAsync(blobs, "")).Select(left => left.Name));
    }

    private static CatalogueContent Content(string text) => new(Encoding.UTF8.GetBytes(text), "text/plain", IsGzip: false, $"tag {text}");

    private static string Text(CatalogueBlob blob) => Encoding.UTF8.GetString(blob.Bytes.Span);

    private static async Task<List<CatalogueEntry>> ListAsync(ICatalogueBlobs blobs, string prefix) =>
        await blobs.ListAsync(prefix, None).ToListAsync();
}
