using System.ComponentModel.DataAnnotations;
using Microsoft.Extensions.Configuration;

namespace HibpIngest.Pipeline.Settings;

public sealed class JournalOptions
{
    [ConfigurationKeyName("JOURNAL")]
    public JournalMode Mode { get; set; } = JournalMode.On;

    /// <summary>Batches per segment of loads to come; 400 of 20,000 rows are about 100 MB. A segment has at most 8,000,000 rows.</summary>
    [Range(1, 400)]
    public int SegmentBatches { get; set; } = 400;
}
