using System.ComponentModel.DataAnnotations;

namespace HibpIngest.Pipeline.Settings;

public sealed class RetryOptions
{
    /// <summary>Maximum attempts of a slice, match or mail message whose own work fails; equal to the host's maxDequeueCount.</summary>
    [Range(1, 100)]
    public int MaxTries { get; set; } = 5;
}
