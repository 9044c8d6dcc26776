using HibpIngest.Delivery;

namespace HibpIngest.Tests.Notifications;

public sealed class PickupSenderTests : IDisposable
{
    private readonly string _root = Directory.CreateTempSubdirectory("hibp-pickup-").FullName;

    public void Dispose() => Directory.Delete(_root, recursive: true);

    [Fact]
    public async Task Mail_is_written_to_a_file_named_by_notification_and_a_resend_replaces_it()
    {
        var folder = Path.Combine(_root, "a", "b");
        await using var sender = NotificationSenders.Create($"pickup:{folder}");

        await sender.SendAsync(Mail(7, "first, and longer\r\n"), default);
        await sender.SendAsync(Mail(8, "other\r\n"), default);
        await sender.SendAsync(Mail(7, "second\r\n"), default);

        Assert.Equal(["7.eml", "8.eml"], Directory.GetFileSystemEntries(folder).Select(Path.GetFileName).Order());
        Assert.Equal("second\r\n", await File.ReadAllTextAsync(Path.Combine(folder, "7.eml")));
        Assert.Equal($"pickup folder {folder}", sender.DisplayName);
    }

    [Fact]
    public async Task File_appears_only_when_it_is_complete()
    {
        var seen = new List<string[]>();
        await using var sender = new PickupSender(_root, path => new Watched(path, () => seen.Add(Directory.GetFiles(_root, "*.eml"))));

        await sender.SendAsync(Mail(7, "a\r\n"), default);

        Assert.Equal([[]], seen);
        Assert.Single(Directory.GetFiles(_root, "*.eml"));
    }

    [Fact]
    public async Task Full_disk_is_reported_and_leaves_no_partial_file()
    {
        // Every write to /dev/full fails as on a full disk.
        await using var sender = new PickupSender(
            _root, _ => new FileStream("/dev/full", FileMode.Open, FileAccess.Write, FileShare.ReadWrite, bufferSize: 0));
        await File.WriteAllTextAsync(Path.Combine(_root, "7.eml"), "before");

        var full = await Assert.ThrowsAsync<StoreFullException>(() => sender.SendAsync(Mail(7, "a\r\n"), default));

        Assert.Contains("is full; make room", full.Message);
        Assert.Equal("before", await File.ReadAllTextAsync(Path.Combine(_root, "7.eml")));
        Assert.Single(Directory.GetFileSystemEntries(_root));
    }

    [Fact]
    public async Task Cancelled_write_leaves_no_file()
    {
        await using var sender = new PickupSender(_root);

        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => sender.SendAsync(Mail(7, "a\r\n"), new CancellationToken(canceled: true)));

        Assert.Empty(Directory.GetFileSystemEntries(_root));
    }

    [Fact]
    public async Task Folder_that_cannot_be_created_or_written_is_refused()
    {
        var file = Path.Combine(_root, "file");
        await File.WriteAllTextAsync(file, "");
        // In the last folder not even root can create a file.
        foreach (var folder in new[] { file, Path.Combine(file, "below"), "/sys/kernel" })
        {
            await using var sender = new PickupSender(folder);
            Assert.Contains(
                folder, (await Assert.ThrowsAsync<StoreRefusedException>(() => sender.SendAsync(Mail(7, "a\r\n"), default))).Message);
            await Assert.ThrowsAsync<StoreRefusedException>(() => sender.CheckAsync("hibp@example.com", default));
        }
    }

    [Fact]
    public async Task Check_leaves_no_files()
    {
        await using var existing = new PickupSender(_root);
        await existing.CheckAsync("hibp@example.com", default);
        await using var missing = new PickupSender(Path.Combine(_root, "new", "deep"));
        await missing.CheckAsync("hibp@example.com", default);

        Assert.Empty(Directory.GetFileSystemEntries(_root));
    }

    private static OutgoingMail Mail(long id, string content) =>
        new($"{id}", "notices@hibp.test", "ann@example.com", Encoding.ASCII.GetBytes(content));

    private sealed class Watched(string path, Action written) : FileStream(path, FileMode.CreateNew)
    {
        public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            await base.WriteAsync(buffer, cancellationToken);
            await FlushAsync(cancellationToken);
            written();
        }
    }
}
