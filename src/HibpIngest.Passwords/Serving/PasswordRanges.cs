using System.Collections.Concurrent;
using HibpIngest.Passwords.Appends;
using Microsoft.Extensions.Caching.Memory;
using Microsoft.Extensions.Options;

namespace HibpIngest.Passwords.Serving;

/// <summary>Pwned Passwords by range; concurrent requests for the same range share one read.</summary>
public sealed class PasswordRanges : IPasswordRanges
{
    // The cost of a cache entry in addition to its bytes.
    private const int EntryBytes = 512;

    private readonly ServedReader? _served;
    private readonly MemoryCache? _cache;
    private readonly bool _ownsCache;
    private readonly ConcurrentDictionary<object, Lazy<Task<RangeContent>>> _reading = new();
    private readonly CancellationTokenSource _stop = new();

    public PasswordRanges(PasswordStores stores, IOptions<PasswordOptions> options, TimeProvider time, ILoggerFactory logs)
        : this(stores, options.Value, NewCache(options.Value), isReplica: false, time, logs.CreateLogger<PasswordRanges>()) =>
        _ownsCache = true;

    /// <summary>Uses a shared cache: no two releases that are opened in a process have the same keys in it.</summary>
    internal PasswordRanges(
        PasswordStores stores, PasswordOptions options, MemoryCache? cache, bool isReplica, TimeProvider time, ILogger log)
    {
        _cache = cache;
        if (options.Passwords != PasswordPin.Off)
            _served = new ServedReader(stores, (PasswordBackend?)options.Passwords, isReplica, time, log);
    }

    /// <summary>True if it is known what is served, so that no request waits for the first read.</summary>
    internal bool IsRead => _served is { HasValue: true };

    public Task RunAsync(CancellationToken cancellationToken) => _served?.RunAsync(cancellationToken) ?? Task.CompletedTask;

    public Task RefreshAsync(CancellationToken cancellationToken) => _served?.RefreshAsync(cancellationToken) ?? Task.CompletedTask;

    public async ValueTask<RangeContent?> FindAsync(HashMode mode, int prefix, CancellationToken cancellationToken)
    {
        if (_served is null)
            return null;
        var served = await _served.GetAsync(cancellationToken);
        try
        {
            return await FindAsync(served, mode, prefix, cancellationToken);
        }
        catch (RangeMissingException)
        {
            // The release was deleted; another one may be served by now.
            await _served.RefreshAsync(cancellationToken);
            var now = await _served.GetAsync(cancellationToken);
            if (now == served)
                throw;
            return await FindAsync(now, mode, prefix, cancellationToken);
        }
    }

    public ValueTask<ChangedRanges?> FindChangesAsync(HashMode mode, DateTimeOffset since, CancellationToken cancellationToken) =>
        FindChangesAsync(mode, since, null, cancellationToken);

    /// <param name="primary">The primary if these are a replica's ranges, else null.</param>
    internal async ValueTask<ChangedRanges?> FindChangesAsync(
        HashMode mode, DateTimeOffset since, PasswordRanges? primary, CancellationToken cancellationToken)
    {
        if (_served is null || await _served.GetAsync(cancellationToken) is not { Changes: { } changes } served || served[mode] is null)
            return null;
        var lastRead = changes.LastRead;
        var until = lastRead.At;
        if (primary is not null && await primary.FindUncopiedAsync(served.Document!, lastRead.Copied, cancellationToken) is var uncopied
            && uncopied < until)
            until = uncopied;
        // The process that wrote a change may have another clock, and needs a while to write it.
        var next = until < DateTimeOffset.MinValue + ChangedRanges.Margin ? until : until - ChangedRanges.Margin;
        var prefixes = since < served.Since ? null : changes.Since(mode, since).Take(ChangedRanges.MaxPrefixes + 1).ToList();
        return new ChangedRanges(
            served.Release!.Release, next > since ? next : since, prefixes?.Count > ChangedRanges.MaxPrefixes ? null : prefixes);
    }

    /// <summary>Returns the time up to which a replica has all changes of this account.</summary>
    private async Task<DateTimeOffset> FindUncopiedAsync(PasswordRelease copy, ChangePosition copied, CancellationToken cancellationToken)
    {
        // The time is not known: the client requests the same changes again.
        if (_served is not { HasValue: true })
            return DateTimeOffset.MinValue;
        var served = await _served.GetAsync(cancellationToken);
        if (served.Document is not { } release || (copy.Name, copy.CopyOf) != (release.Name, release.Id))
            return served.Since;
        try
        {
            // Taken before the first uncopied change is read, so that no change can be missed.
            var at = served.Changes!.LastRead.At;
            return await served.Changes.FindFirstAsync(copied, cancellationToken) is { } first && first < at ? first : at;
        }
        catch (HibpException)
        {
            return DateTimeOffset.MinValue;
        }
    }

    public void Dispose()
    {
        _stop.Cancel();
        if (_ownsCache)
            _cache?.Dispose();
        _stop.Dispose();
    }

    internal static MemoryCache? NewCache(PasswordOptions options) =>
        options.PasswordsCache > 0 ? new MemoryCache(new MemoryCacheOptions { SizeLimit = options.PasswordsCache * (1L << 20) }) : null;

    private ValueTask<RangeContent?> FindAsync(ServedRanges served, HashMode mode, int prefix, CancellationToken cancellationToken)
    {
        if (served[mode] is not { } source)
            return new((RangeContent?)null);
        var number = ((long)served.Serial << 32) | ((long)mode << (4 * HashModes.PrefixDigits)) | (uint)prefix;
        var changed = served.Changes![mode, prefix];
        // The time of the last addition is part of the key, so that an older cache entry is not used.
        var key = changed == 0 ? (object)number : (number, changed);
        return _cache is not null && _cache.TryGetValue(key, out RangeContent? known)
            ? new(known) : new(ReadOnceAsync(source, changed == 0 ? null : served.Overlays, key, mode, prefix, cancellationToken));
    }

    private async Task<RangeContent?> ReadOnceAsync(
        IRangeSource source, RangeOverlays? overlays, object key, HashMode mode, int prefix, CancellationToken cancellationToken)
    {
        // The read is not cancelled with the request that began it: other requests still wait for it.
        var reading = _reading.GetOrAdd(key, _ => new(() => ReadAsync(source, overlays, key, mode, prefix)));
        return await reading.Value.WaitAsync(cancellationToken);
    }

    private async Task<RangeContent> ReadAsync(IRangeSource source, RangeOverlays? overlays, object key, HashMode mode, int prefix)
    {
        try
        {
            var content = overlays is not null ? await overlays.ReadAsync(mode, prefix, _stop.Token)
                : await source.ReadAsync(prefix, _stop.Token)
                ?? RangeContent.OfText(mode, RangeText.OfNothing(mode), source.CompletedAt);
            _cache?.Set(key, content, new MemoryCacheEntryOptions { Size = content.Stored.Bytes.Length + EntryBytes });
            return content;
        }
        finally
        {
            _reading.TryRemove(key, out _);
        }
    }
}
