namespace HibpIngest.Testing;

/// <summary>The access log's blobs in memory, for tests with tens of thousands of appends. They pass AccessBlobsContract.</summary>
internal sealed class MemoryAccessBlobs(TimeProvider time) : IAccessBlobs
{
    private readonly Lock _lock = new();
    private readonly SortedDictionary<string, (MemoryStream Bytes, AccessBlob Blob)> _blobs = new(StringComparer.Ordinal);
    private int _versions;

    public Task CreateAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task<bool> BeginAsync(string name, CancellationToken cancellationToken)
    {
        lock (_lock)
        {
            var blob = new AccessBlob(name, 0, default, AccessBlobState.Open, null, "");
            return Task.FromResult(_blobs.TryAdd(name, (new MemoryStream(), Changed(blob))));
        }
    }

    public Task<BlockAppend> AppendAsync(string name, long position, ReadOnlyMemory<byte> block, CancellationToken cancellationToken)
    {
        lock (_lock)
        {
            if (!_blobs.TryGetValue(name, out var found))
                return Task.FromResult(BlockAppend.NoBlob);
            if (found.Bytes.Length != position)
                return Task.FromResult(BlockAppend.OtherPosition);
            found.Bytes.Position = position;
            found.Bytes.Write(block.Span);
            _blobs[name] = (found.Bytes, Changed(found.Blob with { Bytes = found.Bytes.Length }));
            return Task.FromResult(BlockAppend.Appended);
        }
    }

    public Task MarkAsync(AccessBlob blob, AccessBlobState state, DateTimeOffset? sentAt, CancellationToken cancellationToken)
    {
        lock (_lock)
        {
            if (_blobs.TryGetValue(blob.Name, out var found) && found.Blob.Version == blob.Version)
            {
                var sent = sentAt is { } at ? DateTimeOffset.FromUnixTimeSeconds(at.ToUnixTimeSeconds()) : (DateTimeOffset?)null;
                _blobs[blob.Name] = (found.Bytes, Changed(found.Blob with { State = state, SentAt = sent }));
            }
        }
        return Task.CompletedTask;
    }

    public Task<AccessBlob?> FindAsync(string name, CancellationToken cancellationToken)
    {
        lock (_lock)
            return Task.FromResult(_blobs.TryGetValue(name, out var found) ? found.Blob : null);
    }

    public IAsyncEnumerable<AccessBlob> ListAsync(CancellationToken cancellationToken)
    {
        lock (_lock)
            return _blobs.Values.Select(one => one.Blob).ToList().ToAsyncEnumerable();
    }

    public Task<Stream?> OpenAsync(string name, long offset, CancellationToken cancellationToken)
    {
        lock (_lock)
        {
            return Task.FromResult<Stream?>(
                _blobs.TryGetValue(name, out var found) ? new MemoryStream(found.Bytes.ToArray()[(int)offset..]) : null);
        }
    }

    public Task DeleteAsync(string name, CancellationToken cancellationToken)
    {
        lock (_lock)
            _blobs.Remove(name);
        return Task.CompletedTask;
    }

    private AccessBlob Changed(AccessBlob blob) =>
        blob with { ModifiedAt = time.GetUtcNow(), Version = (++_versions).ToString(CultureInfo.InvariantCulture) };
}
