namespace HibpIngest.Journal.Manifest;

/// <summary>
/// Copies a journal to another place: the current loads, and the documents of removed loads. A second run resumes an interrupted
/// copy. Each segment is read back in full before its load's document is written.
/// </summary>
public sealed class CopyJournal(IJournalBlobs from, IJournalBlobs to)
{
    /// <param name="codec">The codec to recompress segments with. If null, they are copied unchanged.</param>
    /// <param name="progress">Receives the rows copied so far and the total.</param>
    /// <param name="cancellationToken">Stops the copy; the segment being copied isn't created.</param>
    /// <exception cref="BadInputException">The target holds another journal.</exception>
    /// <exception cref="DamagedSegmentException">A segment of the source is damaged.</exception>
    public async Task<JournalCopied> RunAsync(
        BlockCodec? codec, IProgress<(long Done, long All)>? progress, CancellationToken cancellationToken)
    {
        await to.CreateAsync(cancellationToken);
        var manifest = await JournalManifest.ReadAsync(from, cancellationToken);
        var (loads, count, rows, bytes) = (0, 0, 0L, 0L);
        foreach (var load in manifest.Loads.Where(load => load.Removal is not null))
            await to.WriteAsync(load.Folder + JournalNames.Removed, load.Removal!.ToJson(), cancellationToken);
        var all = manifest.Counting.Sum(load => load.Document!.Rows);
        foreach (var load in manifest.Counting)
        {
            var segments = new List<DocumentSegment>();
            foreach (var segment in load.Document!.Segments)
            {
                var name = JournalNames.Segment(load.Folder, segment.First);
                if (await to.FindAsync(name, cancellationToken) is null)
                    await CopyAsync(name, codec, cancellationToken);
                segments.Add(segment with { Bytes = await CheckAsync(name, load.Document, segment, cancellationToken) });
                count++;
                rows += segment.Last - segment.First + 1;
                bytes += segments[^1].Bytes;
                progress?.Report((rows, all));
            }
            var document = load.Document with { Segments = segments };
            if (!await to.WriteAsync(JournalNames.Document(load.Folder, document.Version), document.ToJson(), cancellationToken)
                && (await JournalManifest.FindAsync(to, load.Folder, cancellationToken))?.Document?.IsOfSameLoad(document) != true)
            {
                throw Other(load.Folder);
            }
            loads++;
        }
        return new JournalCopied(loads, count, rows, bytes);
    }

    private async Task CopyAsync(string name, BlockCodec? codec, CancellationToken cancellationToken)
    {
        if (codec is { } other)
        {
            await using var reader = await SegmentReader.OpenAsync(from, name, cancellationToken);
            await SegmentUpload.RunAsync(
                to, name,
                async (output, token) =>
                {
                    using var writer = new SegmentWriter(output, reader.Facts, other);
                    var batch = new AccountBatch(reader.Blocks.Max(block => block.Rows));
                    foreach (var block in reader.Blocks)
                    {
                        await reader.ReadBlockAsync(block.First, batch, token);
                        await writer.AddAsync(block.Slice, batch, token);
                    }
                    return await writer.SealAsync(token);
                },
                cancellationToken);
            return;
        }
        var length = await from.FindAsync(name, cancellationToken);
        await using var content = length is null ? null : await from.OpenAsync(name, 0, length.Value, cancellationToken);
        if (content is null)
            throw new DamagedSegmentException(name, null, 0, "it is missing");
        await to.UploadAsync(name, content, cancellationToken);
    }

    private async Task<long> CheckAsync(
        string name, JournalLoadDocument load, DocumentSegment segment, CancellationToken cancellationToken)
    {
        await using var reader = await SegmentReader.OpenAsync(to, name, cancellationToken);
        var facts = reader.Facts;
        if ((facts.Store, facts.Load.Value, facts.Mark, facts.First, facts.Last)
            != (load.Store, load.Load, load.Mark, segment.First, segment.Last))
            throw Other(name);
        await reader.VerifyAsync(cancellationToken);
        return reader.Length;
    }

    private static BadInputException Other(string name) =>
        new($"'{name}' already exists, and belongs to another log: name an empty place");
}

public sealed record JournalCopied(int Loads, int Segments, long Rows, long Bytes);
