using System.ComponentModel.DataAnnotations;

namespace HibpIngest.Pipeline.Settings;

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
