using System.Diagnostics;

namespace HibpIngest.Telemetry;

/// <summary>
/// One load is one trace. The trace id is a hash of the store's random id and the load's id, so it need not be stored, and a message that
/// Sweep, an operator or a storage tool sends again joins the trace without a traceparent. A message's traceparent only adds the span that
/// sent it, and is used only if it belongs to this trace.
/// </summary>
public sealed class LoadTrace(IDatabaseState database)
{
    private StoreIdentity? _store;

    /// <summary>
    /// Returns the parent of a load's spans, for <see cref="Start"/>; the default value, at no cost, if there are no listeners.
    /// </summary>
    /// <param name="traceparent">Trace context of the message.</param>
    /// <param name="cancellationToken">Cancels reading the store's id, which happens once.</param>
    public async ValueTask<ActivityContext> FindAsync(LoadId load, string? traceparent, CancellationToken cancellationToken)
    {
        // A store without an identity has no loads.
        if (!HibpTelemetry.Source.HasListeners() || (_store ??= await database.GetIdentityAsync(cancellationToken)) is not { } store)
            return default;
        var trace = Id(store.Id, load);
        return ActivityContext.TryParse(traceparent, null, isRemote: true, out var sender) && sender.TraceId == trace
            ? sender
            : new ActivityContext(trace, default, ActivityTraceFlags.Recorded, isRemote: true);
    }

    /// <summary>
    /// Starts a stage's span and makes it the current one. Separate from <see cref="FindAsync"/>, because an awaited method's change of the
    /// current span is lost on return.
    /// </summary>
    public static Activity? Start(string span, LoadId load, ActivityContext parent) =>
        parent == default
        ? null : HibpTelemetry.Source.StartActivity(span, ActivityKind.Consumer, parent)?.SetTag(TelemetryNames.Tags.Load, load.Value);

    internal static ActivityTraceId Id(Guid store, LoadId load)
    {
        Span<byte> key = stackalloc byte[16 + sizeof(long)];
        store.TryWriteBytes(key, bigEndian: true, out _);
        BinaryPrimitives.WriteInt64BigEndian(key[16..], load.Value);
        Span<byte> hash = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(key, hash);
        return ActivityTraceId.CreateFromBytes(hash[..16]);
    }
}
