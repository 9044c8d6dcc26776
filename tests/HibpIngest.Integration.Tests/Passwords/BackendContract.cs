using HibpIngest.Passwords.Ranges;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Serving;

namespace HibpIngest.Integration.Tests.Passwords;

/// <summary>The contract of every back end of Pwned Passwords.</summary>
public abstract class BackendContract(PasswordBackend backend) : IAsyncLifetime
{
    private const string Release = "release1";
    private readonly ClientCorpus _corpus = new(seed: 29);
    private PasswordRig _rig = null!;

    public async Task InitializeAsync()
    {
        _rig = await PasswordRig.StartAsync();
        foreach (var mode in HashModes.All)
            await _rig.ImportAsync(_corpus.Lines(mode), mode, Release, [backend]);
        await _rig.Releases.SwitchAsync(backend, Release, None);
    }

    public Task DisposeAsync()
    {
        _rig.Dispose();
        return Task.CompletedTask;
    }

    [Fact]
    public async Task Range_equals_the_imported_rows_in_either_encoding()
    {
        using var ranges = _rig.Stores.OpenRanges();
        foreach (var mode in HashModes.All)
        {
            foreach (var prefix in _corpus.Ranges(mode).Keys.Append("00000").Append("FFFFF"))
            {
                var range = (await ranges.FindAsync(mode, Convert.ToInt32(prefix, 16), None))!;
                Assert.Equal(_corpus.Body(mode, prefix), range.Text());
                var body = range.For(acceptsGzip: true);
                Assert.Equal(
                    _corpus.Body(mode, prefix),
                    Encoding.ASCII.GetString(body.IsGzip ? RangeGzip.Decompress(body.Bytes) : body.Bytes.ToArray()));
                // Tables store plain rows, and the empty range is a constant: neither is gzipped.
                var isStoredGzipped = backend != PasswordBackend.Table && !range.Stored.Bytes.Equals(RangeText.OfNothing(mode));
                Assert.Equal(isStoredGzipped, body.IsGzip);
            }
        }
    }

    [Fact]
    public async Task Export_is_in_order_with_a_newline_after_each_line()
    {
        foreach (var mode in HashModes.All)
        {
            using var output = new MemoryStream();
            var rows = await new ExportPasswords(_rig.Stores, _rig.Releases, TimeProvider.System)
                .RunAsync(null, mode, output, null, None);
            Assert.Equal(_corpus.Lines(mode).Count(), rows);
            Assert.Equal(string.Concat(_corpus.Lines(mode).Select(line => line + "\n")), Encoding.ASCII.GetString(output.ToArray()));
        }
    }

    [Fact]
    public async Task Missing_range_is_an_error_and_not_an_empty_range()
    {
        using var ranges = _rig.Stores.OpenRanges();
        await ranges.RefreshAsync(None);
        var key = await _rig.KeyAsync(Release);
        await foreach (var name in _rig.Stores.Blobs.ListAsync($"releases/{key}/{backend.Name()}/sha1/", None))
            await _rig.Stores.Blobs.DeleteAsync(name, None);
        await _rig.Stores.Tables.DropAsync(PasswordNames.Table(key, HashMode.Sha1), None);
        await Assert.ThrowsAnyAsync<UnavailableException>(async () => await ranges.FindAsync(HashMode.Sha1, 0x5BAA6, None));
        // Empty ranges are known without a read, and the other mode is still complete.
        Assert.NotNull(await ranges.FindAsync(HashMode.Sha1, 0x00000, None));
        Assert.NotNull(await ranges.FindAsync(HashMode.Ntlm, 0x8846F, None));
    }

    [Fact]
    public async Task Concurrent_requests_for_a_range_share_one_read_and_later_ones_are_cached()
    {
        var watched = new FaultyBlobs(_rig.Stores.Blobs);
        using var ranges = new PasswordStores(watched.Port, watched.Wrap(_rig.Stores.Tables)).OpenRanges();
        await ranges.FindAsync(HashMode.Sha1, 0x00000, None);
        var before = watched.Reads;
        watched.Hold();
        var requests = Enumerable.Range(0, 50)
            .Select(_ => ranges.FindAsync(HashMode.Sha1, 0x5BAA6, None).AsTask()).ToList();
        // One waiting caller may cancel; the others get their result.
        using var cancellation = new CancellationTokenSource();
        var canceled = ranges.FindAsync(HashMode.Sha1, 0x5BAA6, cancellation.Token).AsTask();
        await cancellation.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => canceled);
        watched.Release();
        var results = await Task.WhenAll(requests);
        Assert.All(results, result => Assert.Same(results[0], result));
        Assert.Same(results[0], await ranges.FindAsync(HashMode.Sha1, 0x5BAA6, None));
        Assert.Equal(1, watched.Reads - before);
    }
}

public sealed class PackBackendTests() : BackendContract(PasswordBackend.Pack);

public sealed class BlobBackendTests() : BackendContract(PasswordBackend.Blob);

public sealed class TableBackendTests() : BackendContract(PasswordBackend.Table);
