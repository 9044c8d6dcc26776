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
