using System.Diagnostics;
using System.Diagnostics.Metrics;

namespace HibpIngest.Telemetry;

/// <summary>The names under which the pipeline is watched. Nothing here holds an address.</summary>
public static class HibpTelemetry
{
    /// <summary>Name of the activity source and of the meter.</summary>
    public const string Name = "HibpIngest";

    /// <summary>Spans.</summary>
    public static readonly ActivitySource Source = new(Name);

    /// <summary>Instruments.</summary>
    public static readonly Meter Meter = new(Name);
}
