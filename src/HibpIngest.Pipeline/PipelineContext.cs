using HibpIngest.Errors;
using HibpIngest.Stores;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>What the stages work with: the stores behind their ports, the options, the clock.</summary>
public sealed record PipelineContext
{
    public required IBreachDatabase Database { get; init; }

    public required IAccountTable Table { get; init; }

    public required IStoreRegister Register { get; init; }

    public required IBreachBlobs Blobs { get; init; }

    public required IMessageQueues Queues { get; init; }

    public required INotificationSender Sender { get; init; }

    public required PipelineOptions Options { get; init; }

    /// <summary>Seals archive passwords; without a key it holds them for this process only.</summary>
    public required ArchivePasswords Passwords { get; init; }

    public TimeProvider Time { get; init; } = TimeProvider.System;

    public required ILoggerFactory Logs { get; init; }

    /// <summary>
    /// Told of every message that the dispatcher puts off because a store is down, so that a one-off run can
    /// stop where waiting is no use (<see cref="StoreFullException"/>).
    /// </summary>
    public Action<StoreUnavailableException>? OnPutOff { get; init; }

    /// <summary>
    /// Names this process's start as owner of locks, and each of its runs by <see cref="NewOwner"/>: at random,
    /// for hosts and pids come again.
    /// </summary>
    public string Owner { get; init; } = $"{Guid.NewGuid():N}";

    /// <summary>
    /// Names one run of a stage as owner of leases and claims: two deliveries of one message in one process are
    /// two owners.
    /// </summary>
    internal string NewOwner() => $"{Owner}/{Guid.NewGuid():N}";
}
