namespace HibpIngest.Testing;

public abstract class AccessBlobsContract
{
    private const string Name = "2026112304/0-00001.log";

    protected abstract Task<IAccessBlobs> OpenAsync();

    [Fact]
    public async Task Begin_creates_a_blob_once()
    {
        var blobs = await OpenAsync();
        Assert.True(await blobs.BeginAsync(Name, None));
        Assert.False(await blobs.BeginAsync(Name, None));
        var blob = await blobs.FindAsync(Name, None);
        Assert.Equal((0, AccessBlobState.Open, null), (blob!.Bytes, blob.State, blob.SentAt));
    }

    [Fact]
    public async Task Append_succeeds_only_at_the_current_end()
    {
        var blobs = await OpenAsync();
        Assert.Equal(BlockAppend.NoBlob, await blobs.AppendAsync(Name, 0, "one"u8.ToArray(), None));
        await blobs.BeginAsync(Name, None);
        Assert.Equal(BlockAppend.Appended, await blobs.AppendAsync(Name, 0, "one"u8.ToArray(), None));
        Assert.Equal(BlockAppend.OtherPosition, await blobs.AppendAsync(Name, 0, "two"u8.ToArray(), None));
        Assert.Equal(BlockAppend.OtherPosition, await blobs.AppendAsync(Name, 4, "two"u8.ToArray(), None));
        Assert.Equal(BlockAppend.Appended, await blobs.AppendAsync(Name, 3, "two"u8.ToArray(), None));
        Assert.Equal("onetwo", await ReadAsync(blobs, Name, 0));
        Assert.Equal("two", await ReadAsync(blobs, Name, 3));
        Assert.Equal("", await ReadAsync(blobs, Name, 6));
        Assert.Null(await blobs.OpenAsync("2026112304/none.log", 0, None));
        Assert.Equal(6, (await blobs.FindAsync(Name, None))!.Bytes);
    }

    [Fact]
    public async Task Mark_changes_the_state_only_at_the_version_read()
    {
        var blobs = await OpenAsync();
        await blobs.BeginAsync(Name, None);
        var first = (await blobs.FindAsync(Name, None))!;
        var sent = new DateTimeOffset(2026, 11, 23, 4, 5, 6, TimeSpan.Zero);
        await blobs.MarkAsync(first, AccessBlobState.Sealed, sent, None);
        var second = (await blobs.FindAsync(Name, None))!;
        Assert.Equal((AccessBlobState.Sealed, sent), (second.State, second.SentAt));
        await blobs.MarkAsync(first, AccessBlobState.Counted, null, None);
        Assert.Equal(AccessBlobState.Sealed, (await blobs.FindAsync(Name, None))!.State);
        await blobs.MarkAsync(second, AccessBlobState.Counted, null, None);
        var third = (await blobs.FindAsync(Name, None))!;
        Assert.Equal((AccessBlobState.Counted, null), (third.State, third.SentAt));
        // Marking a blob that doesn't exist does nothing.
        await blobs.MarkAsync(third with { Name = "2026112304/none.log" }, AccessBlobState.Counted, null, None);
    }

    [Fact]
    public async Task Blobs_are_listed_by_name_with_the_same_state_as_found_until_deleted()
    {
        var blobs = await OpenAsync();
        foreach (var name in (string[])["2026112305/a.log", Name, "2026112304/1-00001.log"])
            await blobs.BeginAsync(name, None);
        await blobs.AppendAsync(Name, 0, "one"u8.ToArray(), None);
        await blobs.MarkAsync((await blobs.FindAsync(Name, None))!, AccessBlobState.Sealed, DateTimeOffset.UnixEpoch, None);
        var listed = await blobs.ListAsync(None).ToListAsync();
        Assert.Equal([Name, "2026112304/1-00001.log", "2026112305/a.log"], listed.Select(blob => blob.Name));
        foreach (var blob in listed)
            Assert.Equal(await blobs.FindAsync(blob.Name, None), blob);

        await blobs.DeleteAsync(Name, None);
        await blobs.DeleteAsync(Name, None);
        Assert.Equal(listed[1..], await blobs.ListAsync(None).ToListAsync());
    }

    private static async Task<string> ReadAsync(IAccessBlobs blobs, string name, long offset)
    {
        await using var stream = await blobs.OpenAsync(name, offset, None);
        using var reader = new StreamReader(stream!);
        return await reader.ReadToEndAsync();
    }
}
