using System.ComponentModel.DataAnnotations;

namespace HibpIngest.Pipeline.Settings;

public sealed class UpsertOptions
{
    /// <summary>
    /// How long the lease of a slice lasts without renewal; it is renewed at a third of it. Longer than a short outage of the database,
    /// short enough that a crash costs a minute.
    /// </summary>
    [Range(typeof(TimeSpan), "00:00:01", "7.00:00:00")]
    public TimeSpan SliceLease { get; set; } = TimeSpan.FromSeconds(60);

    /// <summary>Entity group transactions in flight per slice. More than 16 gain nothing on the emulator; Azure scales up to 64.</summary>
    [Range(1, 512)]
    public int TransactionsInFlight { get; set; } = 16;

    /// <summary>Whether a new store writes ranges by hash from its first account on; an existing store ignores it.</summary>
    public RangesMode Ranges { get; set; } = RangesMode.On;
}
