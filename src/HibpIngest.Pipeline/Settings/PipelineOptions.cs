using System.ComponentModel.DataAnnotations;
using Microsoft.Extensions.Configuration;

namespace HibpIngest.Pipeline.Settings;

public sealed class SweepOptions
{
    /// <summary>How long a slice may be pending before its message is sent again.</summary>
    [Range(typeof(TimeSpan), "00:00:00", "7.00:00:00")]
    public TimeSpan SweepPendingAge { get; set; } = TimeSpan.FromMinutes(2);

    /// <summary>
    /// How long a load may make no progress before its messages are sent again: twice the longest time that a message can stay hidden
    /// (10 minutes, delayed or being processed).
    /// </summary>
    [Range(typeof(TimeSpan), "00:00:00", "7.00:00:00")]
    public TimeSpan SweepStaleAge { get; set; } = TimeSpan.FromMinutes(20);

    /// <summary>How old a dropped file without a load must be before it is started without its event, because events can be lost.</summary>
    [Range(typeof(TimeSpan), "00:00:00", "7.00:00:00")]
    public TimeSpan SweepBlobAge { get; set; } = TimeSpan.FromMinutes(2);

    /// <summary>Days that a blob of the access log is kept after its records are counted; 0: forever. The counts are always kept.</summary>
    [Range(0, 36_500)]
    [ConfigurationKeyName("ACCESSLOG_DAYS")]
    public int AccessLogDays { get; set; } = 30;
}

public sealed class RetryOptions
{
    /// <summary>Maximum attempts of a slice, match or mail message whose own work fails; equal to the host's maxDequeueCount.</summary>
    [Range(1, 100)]
    public int MaxTries { get; set; } = 5;
}

public sealed class SiteOptions
{
    /// <summary>Public address of the API, without a trailing slash. Links in responses use it, never the request's Host header.</summary>
    [ConfigurationKeyName("WEB_URL")]
    public string WebUrl { get; set; } = "http://127.0.0.1:8080";
}

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

    /// <summary>On writes ranges by hash in a new store, from its first account on; an existing store ignores it.</summary>
    public RangesMode Ranges { get; set; } = RangesMode.On;
}

public sealed class JournalOptions
{
    [ConfigurationKeyName("JOURNAL")]
    public JournalMode Mode { get; set; } = JournalMode.On;

    /// <summary>Batches per segment of loads to come; 400 of 20,000 rows are about 100 MB. A segment has at most 8,000,000 rows.</summary>
    [Range(1, 400)]
    public int SegmentBatches { get; set; } = 400;
}

public sealed class CallbackOptions
{
    /// <summary>Delay before a failed call is retried or a client that refuses is called; doubled each time, up to an hour.</summary>
    [Range(typeof(TimeSpan), "00:00:00.1", "01:00:00")]
    public TimeSpan CallPause { get; set; } = TimeSpan.FromSeconds(10);

    /// <summary>How long calls to a client may fail before they stop until an operator acts.</summary>
    [Range(typeof(TimeSpan), "00:00:01", "20.00:00:00")]
    public TimeSpan CallGiveUp { get; set; } = TimeSpan.FromDays(3);

    /// <summary>For tests: allows clients on http addresses and on this machine.</summary>
    public bool CallLoopback { get; set; }
}
