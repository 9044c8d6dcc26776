using System.Collections.Concurrent;
using HibpIngest.Errors;
using Microsoft.Extensions.Caching.Memory;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace HibpIngest.Passwords;

/// <summary>
/// Pwned Passwords, as they are asked for: by range, from memory where one was asked for lately; who asks for the same at the
/// same time waits for one read.
/// </summary>
public sealed class PasswordRanges : IPasswordRanges
{
    // Of an entry, beside its bytes.
    private const int EntryBytes = 512;

    private readonly ServedReader? _served;
    private readonly MemoryCache? _cache;
    private readonly bool _ownsCache;
    private readonly ConcurrentDictionary<object, Lazy<Task<RangeContent>>> _reading = new();
    private readonly CancellationTokenSource _stop = new();

    /// <param name="options">What is served, and how much memory is for it.</param>
    public PasswordRanges(PasswordStores stores, IOptions<PasswordOptions> options, TimeProvider time, ILoggerFactory logs)
        : this(stores, options.Value, NewCache(options.Value), isReplica: false, time, logs.CreateLogger<PasswordRanges>()) =>
        _ownsCache = true;

    /// <summary>With a cache that others use too: no two releases that are opened in a process have the same keys in it.</summary>
    internal PasswordRanges(
        PasswordStores stores, PasswordOptions options, MemoryCache? cache, bool isReplica, TimeProvider time, ILogger log)
    {
        _cache = cache;
        if (options.Passwords != PasswordPin.Off)
            _served = new ServedReader(stores, (PasswordBackend?)options.Passwords, isReplica, time, log);
    }

    /// <summary>It is known what is served: nobody waits for a first look.</summary>
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
        catch (RangeGoneException)
        {
            // Deleted since; another one may be served instead.
            await _served.RefreshAsync(cancellationToken);
            var now = await _served.GetAsync(cancellationToken);
            if (now == served)
                throw;
            return await FindAsync(now, mode, prefix, cancellationToken);
        }
    }

    public ValueTask<ChangedRanges?> FindChangesAsync(HashMode mode, DateTimeOffset since, CancellationToken cancellationToken) =>
        FindChangesAsync(mode, since, null, cancellationToken);

    /// <param name="primary">Whose copies these are; null: they are none.</param>
    /// <inheritdoc cref="FindChangesAsync(HashMode, DateTimeOffset, CancellationToken)"/>
    internal async ValueTask<ChangedRanges?> FindChangesAsync(
        HashMode mode, DateTimeOffset since, PasswordRanges? primary, CancellationToken cancellationToken)
    {
        if (_served is null || await _served.GetAsync(cancellationToken) is not { Changes: { } changes } served || served[mode] is null)
            return null;
        var followed = changes.Followed;
        var until = followed.At;
        if (primary is not null && await primary.FindUncopiedAsync(served.Document!, followed.Copied, cancellationToken) is var uncopied
            && uncopied < until)
            until = uncopied;
        // Whoever wrote a change may have another clock, and needs a while to write it.
        var next = until < DateTimeOffset.MinValue + ChangedRanges.Margin ? until : until - ChangedRanges.Margin;
        var prefixes = since < served.Since ? null : changes.Since(mode, since).Take(ChangedRanges.Most + 1).ToList();
        return new ChangedRanges(
            served.Release!.Release, next > since ? next : since, prefixes?.Count > ChangedRanges.Most ? null : prefixes);
    }

    /// <summary>Returns the time until which a replica has everything that has changed here.</summary>
    /// <param name="copy">The release that the replica serves.</param>
    /// <param name="copied">Up to where its changes go in the list of this one.</param>
    private async Task<DateTimeOffset> FindUncopiedAsync(PasswordRelease copy, ChangePlace copied, CancellationToken cancellationToken)
    {
        // Not known: what is asked for now is asked for again.
        if (_served is not { HasValue: true })
            return DateTimeOffset.MinValue;
        var served = await _served.GetAsync(cancellationToken);
        if (served.Document is not { } release || (copy.Name, copy.CopyOf) != (release.Name, release.Id))
            return served.Since;
        try
        {
            // Read after what is known here was, so that it is older than what is not.
            var at = served.Changes!.Followed.At;
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
        // What was known of a range before it was added to is not known of it any more.
        var key = changed == 0 ? (object)number : (number, changed);
        return _cache is not null && _cache.TryGetValue(key, out RangeContent? known)
            ? new(known) : new(ReadOnceAsync(source, changed == 0 ? null : served.Overlays, key, mode, prefix, cancellationToken));
    }

    private async Task<RangeContent?> ReadOnceAsync(
        IRangeSource source, RangeOverlays? overlays, object key, HashMode mode, int prefix, CancellationToken cancellationToken)
    {
        // Whoever began it may leave: the others still wait.
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
