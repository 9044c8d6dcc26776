using HibpIngest.Storage.Sql;

namespace HibpIngest.Tests.Sql;

/// <summary>Tests that records of earlier versions can be read.</summary>
public sealed class StoredTextTests
{
    /// <summary>As written before idle bytes were counted.</summary>
    private const string Settings = """
        {"ExtractorVersion":1,"TopLevelDomains":"cafe",
         "Limits":{"MaxEntries":12,"MaxNesting":2,"MaxInflatedBytes":1000,"MaxInflationRatio":7,"RatioGraceBytes":5},
         "DedupeCap":9,"BatchRows":20000,"SliceRows":10000}
        """;

    private const string Checkpoint = """
        {"Entry":{"Entry":3,"InflatedBytes":2199023255552,"EntriesOpened":5},"EntryFirstPosition":8,
         "RejectedBeforeEntry":{},"Rejected":{},"BlobBytesRead":1,"BlobBytes":2}
        """;

    [Fact]
    public void Settings_without_a_limit_use_its_default() =>
        Assert.Equal(
            new ArchiveLimits
            {
                MaxEntries = 12,
                MaxNesting = 2,
                MaxInflatedBytes = 1000,
                MaxInflationRatio = 7,
                RatioGraceBytes = 5,
                MaxIdleBytes = 64L << 20,
            },
            StoredText.ToSettings(Settings).Limits);

    [Fact]
    public void Checkpoint_without_idle_bytes_reads_as_zero() =>
        Assert.Equal(new ArchivePosition(3, 1L << 41, 5, 0), StoredText.ToCheckpoint(Checkpoint).Entry);

    [Fact]
    public void Counts_from_before_a_rule_read_as_zero_for_it()
    {
        var counts = StoredText.ToCheckpoint(
            """{"Entry":{},"RejectedBeforeEntry":{},"Rejected":{"ByRule":[1,2,3,4,5,6,7,8],"Duplicates":9}}""").Rejected;
        Assert.Equal([1L, 2, 3, 4, 5, 6, 7, 8, 0], counts.ByRule);
        Assert.Equal((36, 9), (counts.Total, counts.Duplicates));
        Assert.Equal(counts.ByRule, StoredText.ToCheckpoint(StoredText.ToText(new LoadCheckpoint { Rejected = counts })).Rejected.ByRule);
    }

    [Fact]
    public void Settings_and_checkpoint_round_trip()
    {
        var settings = StoredText.ToSettings(Settings) with { Limits = new ArchiveLimits { MaxIdleBytes = 77 } };
        Assert.Equal(settings, StoredText.ToSettings(StoredText.ToText(settings)));
        var checkpoint = StoredText.ToCheckpoint(Checkpoint) with { Entry = new ArchivePosition(4, 5, 6, 7) };
        Assert.Equal(checkpoint.Entry, StoredText.ToCheckpoint(StoredText.ToText(checkpoint)).Entry);
    }
}
