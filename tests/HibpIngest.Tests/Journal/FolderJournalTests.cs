using HibpIngest.Journal.Files;

namespace HibpIngest.Tests.Journal;

public sealed class FolderJournalTests : JournalBlobsContract, IDisposable
{
    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    protected override Task<IJournalBlobs> NewContainerAsync() =>
        Task.FromResult<IJournalBlobs>(new FolderJournal(Path.Combine(_folder.Path, "log")));

    public static TheoryData<string> UnsafeNames =>
    [
        "", "/etc/passwd", "../a", "1/../../a", "1/..", "1//a", "1/", "./a", ".unfinished/a", "a\\b", "a\0", "C:a", "a.", "a b", "ä",
    ];

    [Theory]
    [MemberData(nameof(UnsafeNames))]
    public async Task Name_that_is_unsafe_or_ambiguous_is_refused(string name)
    {
        var blobs = await NewContainerAsync();
        await blobs.CreateAsync(CancellationToken.None);
        await Assert.ThrowsAsync<ArgumentException>(async () => await blobs.WriteAsync(name, new byte[1], default));
        await Assert.ThrowsAsync<ArgumentException>(async () => await blobs.FindAsync(name, default));
        await Assert.ThrowsAsync<ArgumentException>(async () => await blobs.UploadAsync(name, new MemoryStream(), default));
        await Assert.ThrowsAsync<ArgumentException>(async () => await blobs.DeleteAsync(name, default));
        await Assert.ThrowsAsync<ArgumentException>(async () => await blobs.OpenAsync(name, 0, 1, default));
        Assert.Equal([Path.Combine(_folder.Path, "log")], Directory.GetFileSystemEntries(_folder.Path, "*", SearchOption.AllDirectories));
    }

    [Fact]
    public async Task Unfinished_file_of_a_crashed_process_is_not_listed()
    {
        var blobs = await NewContainerAsync();
        await blobs.CreateAsync(CancellationToken.None);
        Assert.True(await blobs.WriteAsync("1/a", new byte[1], CancellationToken.None));
        var unfinished = Path.Combine(_folder.Path, "log", ".unfinished");
        Assert.Empty(Directory.GetFiles(unfinished));
        await File.WriteAllBytesAsync(Path.Combine(unfinished, "x"), new byte[10]);
        Assert.Equal("1/a", (await blobs.ListAsync("", CancellationToken.None).SingleAsync()).Name);
    }

    [Fact]
    public async Task Blob_deleted_during_a_read_is_read_to_its_end()
    {
        var blobs = await NewContainerAsync();
        await blobs.CreateAsync(CancellationToken.None);
        Assert.True(await blobs.WriteAsync("1/a", new byte[] { 1, 2, 3, 4 }, CancellationToken.None));
        await using var stream = (await blobs.OpenAsync("1/a", 1, 2, CancellationToken.None))!;
        await blobs.DeleteAsync("1/a", CancellationToken.None);
        var read = new byte[10];
        Assert.Equal(2, await stream.ReadAtLeastAsync(read, 10, throwOnEndOfStream: false));
        Assert.Equal([2, 3], read[..2]);
    }
}
