using System.Diagnostics.CodeAnalysis;

/// <summary>
/// Runs in a process before its Main if DOTNET_STARTUP_HOOKS names this assembly: from then on, memory seems exhausted whenever a stage
/// of a load starts its span, or a connection to a store is opened.
/// </summary>
[SuppressMessage(
    "Design", "MA0047:Declare types in namespaces",
    Justification = "The runtime expects it in none (github.com/dotnet/runtime, docs/design/features/host-startup-hook.md).")]
internal static class StartupHook
{
    public const string Variable = "DOTNET_STARTUP_HOOKS";

    /// <summary>Address in the exception's message, as if it came from the work; no log may contain it.</summary>
    public const string Person = "out.of.memory@example.com";

    private const string Connections = "Experimental.System.Net.Http.Connections";

    public static string File => typeof(StartupHook).Assembly.Location;

    public static void Initialize() => ActivitySource.AddActivityListener(new ActivityListener
    {
        ShouldListenTo = source => source.Name is "HibpIngest" or Connections,
        Sample = (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllData,
        ActivityStarted = activity =>
        {
            // The connection to the Functions host is of HTTP/2.
            if (activity.Source.Name == "HibpIngest" || Environment.StackTrace.Contains("Http11", StringComparison.Ordinal))
                throw new OutOfMemoryException(Person);
        },
    });
}
