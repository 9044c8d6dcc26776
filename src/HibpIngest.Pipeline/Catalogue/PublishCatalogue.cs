using System.IO.Compression;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Text.Json.Serialization.Metadata;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Writes the catalogue as one state of the database has it: what readers take the breaches from (docs/catalogue.md). Its
/// key is the catalogue's version: a second run writes what differs, which is nothing, and of two at once the one with the
/// newer state wins; the other begins anew. The last blob, ids.json, is the one that tells which of them that is.
/// </summary>
public sealed partial class PublishCatalogue(
    ICatalogue catalogue, ICatalogueMarks marks, ICatalogueBlobs blobs, IBreachBlobs dropped, IOptions<SiteOptions> options,
    TimeProvider time, ILogger<PublishCatalogue> log)
{
    /// <summary>A writer that has not come to an end by then gives up. Longer than a thousand breaches take.</summary>
    public static readonly TimeSpan LongestRun = TimeSpan.FromMinutes(5);

    /// <summary>
    /// A mark that is older is of nobody who is still at work: the longest statement behind one, the last step of a match,
    /// may take 30 minutes, and its retries.
    /// </summary>
    public static readonly TimeSpan OldestMark = TimeSpan.FromHours(2);

    private const string Json = "application/json; charset=utf-8";

    // Writes and deletions in flight: a breach's blob is some kilobytes, and latency all that it costs.
    private const int AtOnce = 16;

    // Others' versions that one gives way to before it leaves the rest to the next sweep.
    private const int MostRounds = 20;

    // Marks that sweeps have published behind already, and when.
    private readonly Dictionary<string, DateTimeOffset> _swept = [];

    /// <summary>Merges the catalogue into a restored database.</summary>
    public MergeCatalogue Merge { get; } = new(catalogue, blobs);

    /// <summary>To be called before a change in SQL that readers see; publishes it afterwards.</summary>
    public async Task<CatalogueChange> BeginChangeAsync(CancellationToken cancellationToken) =>
        new(this, marks, await marks.MarkBehindAsync(time.GetUtcNow(), cancellationToken));

    /// <summary>Publishes what the database holds now.</summary>
    public async Task<PublishedCatalogue> RunAsync(CancellationToken cancellationToken) =>
        await (await BeginChangeAsync(cancellationToken)).PublishAsync(cancellationToken);

    /// <summary>
    /// Publishes where there is no catalogue yet (a fresh store, or one of a program that knew none), and where it is newer than the
    /// database, which was restored then: merged before any work on the database raises its version.
    /// </summary>
    public async Task EnsureAsync(CancellationToken cancellationToken)
    {
        await blobs.CreateAsync(cancellationToken);
        await foreach (var ids in blobs.ListAsync(CatalogueDocuments.Ids, cancellationToken))
        {
            if (ids.Version <= (await catalogue.ReadCatalogueAsync(cancellationToken)).Version)
                return;
        }
        await RunAsync(cancellationToken);
    }

    /// <summary>
    /// Publishes where a mark is set, without asking the database where none is: at once, and as whoever has set it may
    /// still be about to change something, again each time that it has become twice as old. One that is older than anybody
    /// is at work is cleared. One call at a time.
    /// </summary>
    /// <param name="before">Makes sure that the database may be published from.</param>
    public async Task SweepAsync(Func<CancellationToken, Task> before, CancellationToken cancellationToken)
    {
        var found = await marks.ListBehindAsync(cancellationToken);
        foreach (var gone in _swept.Keys.Except(found.Select(one => one.Mark)).ToList())
            _swept.Remove(gone);
        var now = time.GetUtcNow();
        if (!found.Any(one => IsForgotten(one.SetAt) || IsDue(one.Mark, one.SetAt)))
            return;
        await before(cancellationToken);
        var change = await BeginChangeAsync(cancellationToken);
        if (await change.TryPublishAsync(cancellationToken) is not null)
        {
            // Those that were found stay: there need not be one more each minute.
            await change.AbandonAsync(cancellationToken);
            return;
        }
        foreach (var (mark, setAt) in found)
        {
            _swept[mark] = now;
            if (IsForgotten(setAt))
                await marks.ClearBehindAsync(mark, cancellationToken);
        }

        bool IsForgotten(DateTimeOffset setAt) => now - setAt >= OldestMark;

        bool IsDue(string mark, DateTimeOffset setAt) => !_swept.TryGetValue(mark, out var swept) || now - setAt >= 2 * (swept - setAt);
    }

    /// <summary>Writes what differs. The caller has set a mark, which stays where this throws.</summary>
    internal async Task<PublishedCatalogue> WriteAsync(CancellationToken cancellationToken)
    {
        using var late = new CancellationTokenSource(LongestRun, time);
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(late.Token, cancellationToken);
        try
        {
            for (var round = 0; round < MostRounds; round++)
            {
                if (await TryWriteAsync(stop.Token) is { } published)
                {
                    LogPublished(published.Version, published.Breaches, published.Written, published.Deleted);
                    return published;
                }
            }
        }
        catch (OperationCanceledException) when (late.IsCancellationRequested && !cancellationToken.IsCancellationRequested)
        {
            throw new StoreUnavailableException($"publishing the catalogue took longer than {LongestRun.TotalMinutes:0} minutes");
        }
        throw new StoreUnavailableException(
            $"others changed the catalogue {MostRounds} times while it was being published; it is tried again");
    }

    /// <summary>One round with one state of the database; null: somebody has a newer one, and all is to be looked at anew.</summary>
    private async Task<PublishedCatalogue?> TryWriteAsync(CancellationToken cancellationToken)
    {
        // The blobs before the database: what is listed was written from a state that is in the database by now.
        var there = await ListAsync(cancellationToken);
        var snapshot = await catalogue.ReadCatalogueAsync(cancellationToken);
        var newest = there.Values.Select(entry => entry.Version).DefaultIfEmpty().Max();
        if (newest > snapshot.Version)
        {
            // Unless it has been put back to a backup, in which case nothing would ever be newer.
            LogRestored(newest, snapshot.Version);
            await Merge.RunAsync(newest, cancellationToken);
            return null;
        }

        var round = new Round(blobs, there, snapshot.Version);
        var listed = snapshot.Breaches.Where(breach => breach.IsListed).ToList();
        var logos = await WriteLogosAsync(round, listed, cancellationToken);
        var shown = listed.Select(breach => Describe(breach, logos.Contains(breach.Breach.Name)))
            .OrderBy(breach => breach.Title, StringComparer.OrdinalIgnoreCase).ThenBy(breach => breach.Name, StringComparer.Ordinal)
            .ToList();

        var inParallel = new ParallelOptions { MaxDegreeOfParallelism = AtOnce, CancellationToken = cancellationToken };
        await Parallel.ForEachAsync(shown, inParallel, async (breach, token) =>
            await round.WriteAsync(CatalogueDocuments.Breach(breach.Name), Content(breach, CatalogueJson.Default.PublicBreach), token));
        await round.WriteAsync(
            CatalogueDocuments.Breaches, Content(shown, CatalogueJson.Default.IReadOnlyListPublicBreach), cancellationToken);
        await round.WriteAsync(
            CatalogueDocuments.Latest,
            Content(shown.MaxBy(breach => (breach.AddedDate, breach.Name))!, CatalogueJson.Default.PublicBreach), cancellationToken);
        await round.WriteAsync(
            CatalogueDocuments.DataClasses,
            Content(
                [.. shown.SelectMany(breach => breach.DataClasses).Distinct().Order(StringComparer.Ordinal)],
                CatalogueJson.Default.IReadOnlyListString),
            cancellationToken);
        await Parallel.ForEachAsync(Stale(there.Values, shown, logos), inParallel, async (entry, token) =>
            await round.DeleteAsync(entry, token));
        if (round.IsOvertaken)
            return null;

        // Last: whoever reads it finds everything else as new as it is, or newer. And who is refused here has been overtaken:
        // what he has written before may be the older.
        var ids = new CatalogueIds(
            snapshot.Version,
            [.. listed.OrderBy(breach => breach.Breach.Name, StringComparer.Ordinal)
                .Select(breach => new CatalogueMarks(breach.Breach.Name, breach.Breach.Metadata.Flags, breach.Breach.Marks))]);
        await round.FinishAsync(CatalogueDocuments.Ids, Content(ids, CatalogueJson.Default.CatalogueIds), cancellationToken);
        return round.IsOvertaken ? null : new PublishedCatalogue(snapshot.Version, shown.Count, round.Written, round.Deleted);
    }

    private async Task<Dictionary<string, CatalogueEntry>> ListAsync(CancellationToken cancellationToken)
    {
        var there = new Dictionary<string, CatalogueEntry>();
        try
        {
            await foreach (var entry in blobs.ListAsync("", cancellationToken))
                there[entry.Name] = entry;
        }
        catch (StoreMissingException)
        {
            // A store of a program that knew no catalogue, before its host has started.
            await blobs.CreateAsync(cancellationToken);
        }
        return there;
    }

    /// <summary>Blobs of breaches that are not shown (any more), and logos of breaches without one.</summary>
    private static IEnumerable<CatalogueEntry> Stale(
        IEnumerable<CatalogueEntry> there, IEnumerable<PublicBreach> shown, IReadOnlySet<string> logos)
    {
        var wanted = shown.Select(breach => CatalogueDocuments.Breach(breach.Name)).Concat(logos.Select(CatalogueDocuments.Logo))
            .ToHashSet(StringComparer.Ordinal);
        return there.Where(entry => !wanted.Contains(entry.Name)
            && (entry.Name.StartsWith(CatalogueDocuments.BreachFolder, StringComparison.Ordinal)
                || entry.Name.StartsWith(CatalogueDocuments.Logos, StringComparison.Ordinal)));
    }

    /// <summary>
    /// The breaches that have a logo. What lies beside the newest zip counts; where nothing does any more, what was
    /// published of it stays.
    /// </summary>
    private async Task<IReadOnlySet<string>> WriteLogosAsync(
        Round round, IReadOnlyList<CatalogueBreach> listed, CancellationToken cancellationToken)
    {
        var images = new Dictionary<string, BreachBlob>();
        await foreach (var image in dropped.ListImagesAsync(cancellationToken))
            images[image.Version.Name] = image;
        var logos = new HashSet<string>(StringComparer.Ordinal);
        foreach (var breach in listed)
        {
            var logo = CatalogueDocuments.Logo(breach.Breach.Name);
            foreach (var name in breach.Zips.SelectMany(BreachName.LogoBlobs).Distinct())
            {
                if (!images.TryGetValue(name, out var image))
                    continue;
                // By its version, so that one that is published already isn't read.
                var tag = Hash(Encoding.UTF8.GetBytes($"{image.Version.Name}\n{image.Version.ETag}"));
                if (!round.Has(logo, tag))
                {
                    if (await ReadLogoAsync(image, cancellationToken) is not { } png)
                        continue;
                    await round.WriteAsync(logo, new CatalogueContent(png, "image/png", IsGzip: false, tag), cancellationToken);
                }
                logos.Add(breach.Breach.Name);
                break;
            }
            if (round.Has(logo))
                logos.Add(breach.Breach.Name);
        }
        return logos;
    }

    private async Task<byte[]?> ReadLogoAsync(BreachBlob image, CancellationToken cancellationToken)
    {
        var png = image.Length > LogoImage.MaxBytes ? null
            : await dropped.ReadSmallAsync(image.Version.Name, LogoImage.MaxBytes, cancellationToken) ?? [];
        if ((png is null ? LogoImage.TooLarge(image.Length) : LogoImage.FindFault(png)) is not { } fault)
            return png;
        LogBadLogo(image.Version.Name, fault);
        return null;
    }

    /// <summary>Returns a breach's metadata in the form in which readers get it.</summary>
    internal static PublicBreach Reduce(Breach breach)
    {
        var told = PublicBreach.Of(breach);
        return told with
        {
            Description = DescriptionHtml.Reduce(told.Description),
            DataClasses = [.. told.DataClasses.Distinct().Order(StringComparer.Ordinal)],
        };
    }

    private PublicBreach Describe(CatalogueBreach breach, bool hasLogo)
    {
        var told = Reduce(breach.Breach);
        return told with
        {
            ModifiedDate = breach.ModifiedAt ?? told.AddedDate,
            PwnCount = breach.Accounts,
            LogoPath = $"{options.Value.WebUrl}/logos/{(hasLogo ? Uri.EscapeDataString(told.Name) : "default")}.png",
        };
    }

    private static CatalogueContent Content<T>(T document, JsonTypeInfo<T> form)
    {
        var json = JsonSerializer.SerializeToUtf8Bytes(document, form);
        using var packed = new MemoryStream();
        using (var gzip = new GZipStream(packed, CompressionLevel.Optimal, leaveOpen: true))
            gzip.Write(json);
        // Of what is packed, and not of how: the next runtime's gzip may be another.
        return new CatalogueContent(packed.ToArray(), Json, IsGzip: true, Hash(json));
    }

    private static string Hash(ReadOnlySpan<byte> content) => Convert.ToHexStringLower(SHA256.HashData(content));

    /// <summary>What is written with one state of the database, over what was there.</summary>
    private sealed class Round(ICatalogueBlobs blobs, IReadOnlyDictionary<string, CatalogueEntry> there, long version)
    {
        private int _written;
        private int _deleted;
        private volatile bool _overtaken;

        /// <summary>Somebody has written from a newer state.</summary>
        public bool IsOvertaken => _overtaken;

        public int Written => _written;

        public int Deleted => _deleted;

        public bool Has(string name, string? tag = null) => there.TryGetValue(name, out var entry) && (tag is null || entry.Tag == tag);

        public async Task WriteAsync(string name, CatalogueContent content, CancellationToken cancellationToken)
        {
            if (!IsOvertaken && !Has(name, content.Tag))
                await FinishAsync(name, content, cancellationToken);
        }

        /// <summary>The same whatever was listed: tells whether somebody has been faster since.</summary>
        public async Task FinishAsync(string name, CatalogueContent content, CancellationToken cancellationToken)
        {
            if (!await blobs.WriteAsync(name, version, content, cancellationToken))
                _overtaken = true;
            else if (!Has(name, content.Tag))
                Interlocked.Increment(ref _written);
        }

        public async Task DeleteAsync(CatalogueEntry entry, CancellationToken cancellationToken)
        {
            if (IsOvertaken)
                return;
            await blobs.DeleteAsync(entry.Name, entry.ETag, cancellationToken);
            Interlocked.Increment(ref _deleted);
        }
    }
}
