using System.Buffers.Binary;
using System.Diagnostics;
using System.Security.Cryptography;
using HibpIngest.Stores;

namespace HibpIngest.Telemetry;

/// <summary>
/// One load is one trace. Its id is a hash of the store's random id and the load's id: whoever knows the load
/// knows the trace, so nothing is stored, and a message that Sweep, an operator or a storage tool sends again
/// joins it without a traceparent. A message's traceparent says one thing more, which span sent it, and is
/// believed where it is of this trace.
/// </summary>
public sealed class LoadTrace(IDatabaseSetup database)
{
    private StoreIdentity? _store;

    /// <summary>What a span of a load hangs on, for <see cref="Start"/>; nothing, at no cost, where nobody listens.</summary>
    /// <param name="traceparent">As the message has it.</param>
    /// <param name="cancellationToken">Of the call for the store's id, the first time.</param>
    public async ValueTask<ActivityContext> FindAsync(long load, string? traceparent, CancellationToken cancellationToken)
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
    /// Starts a stage's span and makes it the current one, which is why it is not part of
    /// <see cref="FindAsync"/>: what an awaited method makes current is so within it only.
    /// </summary>
    public static Activity? Start(string span, long load, ActivityContext parent) =>
        parent == default
        ? null : HibpTelemetry.Source.StartActivity(span, ActivityKind.Consumer, parent)?.SetTag(TelemetryNames.Tags.Load, load);

    internal static ActivityTraceId Id(Guid store, long load)
    {
        Span<byte> key = stackalloc byte[16 + sizeof(long)];
        store.TryWriteBytes(key, bigEndian: true, out _);
        BinaryPrimitives.WriteInt64BigEndian(key[16..], load);
        Span<byte> hash = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(key, hash);
        return ActivityTraceId.CreateFromBytes(hash[..16]);
    }
}
