using System.Runtime.CompilerServices;

namespace HibpIngest.Passwords.Appends;

/// <summary>One mode of a release together with what was added to it, to be read from end to end.</summary>
internal sealed class ExtendedRelease(IRangeSource source, HashMode mode, ReleaseChanges changes, RangeOverlays overlays)
{
    // Each range that was added to is a read of its own.
    private const int Ahead = 16;

    public static async Task<ExtendedRelease> OpenAsync(
        PasswordStores stores, ReleaseKey release, ReleasePart part, TimeProvider time, CancellationToken cancellationToken)
    {
        var changes = await ReleaseChanges.OpenAsync(stores.Blobs, release, time, cancellationToken);
        return new ExtendedRelease(
            await ReleaseReader.OpenAsync(stores, release, part, cancellationToken), part.Mode, changes,
            new RangeOverlays(stores.Blobs, release));
    }

    public async IAsyncEnumerable<ExtendedRange> ReadGroupAsync(int group, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        var first = group * PasswordNames.RangesOfGroup;
        var changed = new Queue<int>(Enumerable.Range(first, PasswordNames.RangesOfGroup).Where(prefix => changes[mode, prefix] != 0));
        var ahead = new Queue<(int Prefix, Task<RangeContent> Content)>();
        ReadAhead();
        await foreach (var (prefix, content) in source.ReadGroupAsync(group, cancellationToken))
        {
            while (ahead.TryPeek(out var next) && next.Prefix < prefix)
                yield return new ExtendedRange(next.Prefix, null, await ClaimAsync());
            yield return new ExtendedRange(
                prefix, content, ahead.TryPeek(out var same) && same.Prefix == prefix ? await ClaimAsync() : null);
        }
        while (ahead.Count > 0)
            yield return new ExtendedRange(ahead.Peek().Prefix, null, await ClaimAsync());

        void ReadAhead()
        {
            while (ahead.Count < Ahead && changed.TryDequeue(out var prefix))
                ahead.Enqueue((prefix, overlays.ReadAsync(mode, prefix, cancellationToken)));
        }

        async Task<RangeContent> ClaimAsync()
        {
            var content = await ahead.Dequeue().Content;
            ReadAhead();
            return content;
        }
    }
}

/// <param name="Imported">The range as imported. Null if it held nothing then.</param>
/// <param name="Added">The range with the hashes added to it. Null if none were added.</param>
internal sealed record ExtendedRange(int Prefix, RangeContent? Imported, RangeContent? Added)
{
    public RangeContent Content => Added ?? Imported!;
}
