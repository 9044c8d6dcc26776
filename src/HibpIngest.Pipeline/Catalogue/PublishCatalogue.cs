using System.IO.Compression;
using System.Text.Json.Serialization.Metadata;

namespace HibpIngest.Pipeline.Catalogue;

/// <summary>
/// Writes the catalogue, from which all readers take the breaches (docs/catalogue.md), from one snapshot of the database. Idempotency key:
/// the catalogue's version. A second run writes only differences, that is, nothing. Of two concurrent runs the one with the newer snapshot
/// wins and the other starts over. The last blob written, ids.json, decides which one that is.
/// </summary>
public sealed partial class PublishCatalogue(
    ICatalogue catalogue, IWorkRegister register, ICatalogueBlobs blobs, IBreachBlobs dropped, IOptions<SiteOptions> options,
    TimeProvider time, ILogger<PublishCatalogue> log)
{
    /// <summary>A run that takes longer gives up. A thousand breaches take less.</summary>
    public static readonly TimeSpan MaxRun = TimeSpan.FromMinutes(5);

    internal const string Json = "application/json; charset=utf-8";

    // Writes and deletions in flight. A breach's blob has a few kilobytes, so latency is the whole cost.
    private const int MaxConcurrency = 16;

    // Attempts that other writers overtake before the rest is left to the next sweep.
    private const int MaxRounds = 20;

    public MergeCatalogue Merge { get; } = new(catalogue, blobs);

    /// <summary>Marks a change, before it is made in SQL; the returned object publishes it afterwards.</summary>
    public async Task<CatalogueChange> BeginChangeAsync(CancellationToken cancellationToken) =>
        new(this, register, await register.SetStaleMarkAsync(time.GetUtcNow(), cancellationToken));

    /// <summary>A change that is refused clears the mark.</summary>
    internal async Task<CatalogueChange> ChangeAsync(Func<Task> makeChange, CancellationToken cancellationToken)
    {
        var change = await BeginChangeAsync(cancellationToken);
        try
        {
            await makeChange();
            return change;
        }
        catch (HibpException e) when (e is NotPossibleException or BadInputException)
        {
            await change.AbandonAsync(cancellationToken);
            throw;
        }
    }

    public async Task<PublishedCatalogue> RunAsync(CancellationToken cancellationToken) =>
        await (await BeginChangeAsync(cancellationToken)).PublishAsync(cancellationToken);

    /// <summary>
    /// Publishes if there is no catalogue yet (a fresh store, or one from a version without a catalogue), or if the catalogue is newer than
    /// the database, which was then restored. In that case it merges first, before any work on the database raises its version.
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

    /// <summary>The caller has set a mark, which stays set if this throws.</summary>
    internal async Task<PublishedCatalogue> WriteAsync(CancellationToken cancellationToken)
    {
        using var late = new CancellationTokenSource(MaxRun, time);
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(late.Token, cancellationToken);
        try
        {
            for (var round = 0; round < MaxRounds; round++)
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
            throw new UnavailableException(
                $"publishing the catalogue took longer than {MaxRun.TotalMinutes:0} minutes; Sweep retries it");
        }
        throw new UnavailableException(
            $"the catalogue changed {MaxRounds} times during publishing; Sweep retries it");
    }

    /// <returns>Null if another writer has a newer snapshot, or the catalogue was merged; start over with a new snapshot.</returns>
    private async Task<PublishedCatalogue?> TryWriteAsync(CancellationToken cancellationToken)
    {
        // The blobs are listed before the database is read: each was written from a state that the database already holds.
        var there = await ListAsync(cancellationToken);
        var snapshot = await catalogue.ReadCatalogueAsync(cancellationToken);
        var newest = there.Values.Select(entry => entry.Version).DefaultIfEmpty().Max();
        if (newest > snapshot.Version)
        {
            // So the database was restored from a backup, and wouldn't catch up by itself.
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

        var inParallel = Parallelism.Of(MaxConcurrency, cancellationToken);
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

        // ids.json is last: a reader of it finds every other blob at least as new. If its write is refused, this run was overtaken, and
        // the blobs that it has written may be the older ones.
        var ids = new CatalogueIds(
            snapshot.Version,
            [.. listed.OrderBy(breach => breach.Breach.Name, StringComparer.Ordinal)
                .Select(breach => new CatalogueMarks(breach.Breach.Name, breach.Breach.Metadata.Flags, breach.Breach.Marks))]);
        await round.FinishAsync(CatalogueDocuments.Ids, Content(ids, CatalogueJson.Default.CatalogueIds), cancellationToken);
        return round.IsOvertaken ? null : new PublishedCatalogue(snapshot.Version, shown.Count, round.Written, round.Deleted);
    }

    private async Task<Dictionary<string, CatalogueEntry>> ListAsync(CancellationToken cancellationToken)
    {
        try
        {
            return await blobs.ListAsync("", cancellationToken)
                .ToDictionaryAsync(entry => entry.Name, cancellationToken: cancellationToken);
        }
        catch (StoreMissingException)
        {
            // A store from a version without a catalogue, before its host has started.
            await blobs.CreateAsync(cancellationToken);
            return [];
        }
    }

    private static IEnumerable<CatalogueEntry> Stale(
        IEnumerable<CatalogueEntry> there, IEnumerable<PublicBreach> shown, IReadOnlySet<string> logos)
    {
        var wanted = shown.Select(breach => CatalogueDocuments.Breach(breach.Name)).Concat(logos.Select(CatalogueDocuments.Logo))
            .ToHashSet(StringComparer.Ordinal);
        return there.Where(entry => !wanted.Contains(entry.Name)
            && (entry.Name.StartsWith(CatalogueDocuments.BreachFolder, StringComparison.Ordinal)
                || entry.Name.StartsWith(CatalogueDocuments.Logos, StringComparison.Ordinal)));
    }

    /// <summary>Writes new logos. The image next to the newest zip counts; if no image is left, the published logo stays.</summary>
    private async Task<IReadOnlySet<string>> WriteLogosAsync(
        Round round, IReadOnlyList<CatalogueBreach> listed, CancellationToken cancellationToken)
    {
        var images = await dropped.ListImagesAsync(cancellationToken)
            .ToDictionaryAsync(image => image.Version.Name, cancellationToken: cancellationToken);
        var logos = new HashSet<string>(StringComparer.Ordinal);
        foreach (var breach in listed)
        {
            var logo = CatalogueDocuments.Logo(breach.Breach.Name);
            foreach (var name in breach.Zips.SelectMany(BreachName.LogoBlobs).Distinct())
            {
                if (!images.TryGetValue(name, out var image))
                    continue;
                // Tagged with the image's version, so that a published logo isn't read again.
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

    internal static PublicBreach Reduce(Breach breach)
    {
        var shown = PublicBreach.Of(breach);
        return shown with
        {
            Description = DescriptionHtml.Reduce(shown.Description),
            DataClasses = [.. shown.DataClasses.Distinct().Order(StringComparer.Ordinal)],
        };
    }

    private PublicBreach Describe(CatalogueBreach breach, bool hasLogo)
    {
        var shown = Reduce(breach.Breach);
        return shown with
        {
            ModifiedDate = breach.ModifiedAt ?? shown.AddedDate,
            PwnCount = breach.Accounts,
            LogoPath = $"{options.Value.WebUrl}/logos/{(hasLogo ? Uri.EscapeDataString(shown.Name) : "default")}.png",
        };
    }

    private static CatalogueContent Content<T>(T document, JsonTypeInfo<T> form)
    {
        var json = JsonSerializer.SerializeToUtf8Bytes(document, form);
        using var packed = new MemoryStream();
        using (var gzip = new GZipStream(packed, CompressionLevel.Optimal, leaveOpen: true))
            gzip.Write(json);
        // The hash of the JSON, not of the gzip: another runtime's gzip may produce other bytes.
        return new CatalogueContent(packed.ToArray(), Json, IsGzip: true, Hash(json));
    }

    private static string Hash(ReadOnlySpan<byte> content) => Convert.ToHexStringLower(SHA256.HashData(content));

    private sealed class Round(ICatalogueBlobs blobs, IReadOnlyDictionary<string, CatalogueEntry> there, long version)
    {
        private int _written;
        private int _deleted;
        private volatile bool _overtaken; // another writer has written from a newer snapshot

        public bool IsOvertaken => _overtaken;
        public int Written => _written;
        public int Deleted => _deleted;

        public bool Has(string name, string? tag = null) => there.TryGetValue(name, out var entry) && (tag is null || entry.Tag == tag);

        public async Task WriteAsync(string name, CatalogueContent content, CancellationToken cancellationToken)
        {
            if (!IsOvertaken && !Has(name, content.Tag))
                await FinishAsync(name, content, cancellationToken);
        }

        /// <summary>Writes even if the listed blob has the same content: a refusal shows that another writer has been faster.</summary>
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

    [LoggerMessage(
        EventIds.PublishCataloguePublished, LogLevel.Information,
        "catalogue: version {Version} published ({Breaches} breaches, {Written} blobs written, {Deleted} deleted)")]
    private partial void LogPublished(long version, int breaches, int written, int deleted);

    [LoggerMessage(
        EventIds.PublishCatalogueBehind, LogLevel.Warning,
        "catalogue: publishing failed, the previous version stays in use; the next sweep retries: {Reason}")]
    internal partial void LogBehind(string reason);

    [LoggerMessage(EventIds.PublishCatalogueBadLogo, LogLevel.Warning, "catalogue: logo '{Blob}' left out: {Reason}")]
    private partial void LogBadLogo(string blob, string reason);

    [LoggerMessage(
        EventIds.PublishCatalogueRestored, LogLevel.Warning,
        "catalogue: version {Found} is newer than the database's {Version} (restored from a backup); merging it into the database")]
    private partial void LogRestored(long found, long version);
}

/// <param name="Written">Number of blobs written; the others were up to date.</param>
public sealed record PublishedCatalogue(long Version, int Breaches, int Written, int Deleted);
