using System.ComponentModel.DataAnnotations;
using Microsoft.Extensions.Configuration;

namespace HibpIngest.Pipeline.Settings;

public sealed class JournalOptions
{
    [ConfigurationKeyName("JOURNAL")]
    public JournalMode Mode { get; set; } = JournalMode.On;

    /// <summary>
    /// Batches per segment, for loads that are not yet cut into segments; 400 batches of 20,000 rows are about 100 MB. A segment has at
    /// most 8,000,000 rows, regardless of this value.
    /// </summary>
    [Range(1, 400)]
    public int SegmentBatches { get; set; } = 400;
}
