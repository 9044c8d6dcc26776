namespace HibpIngest.Pipeline.Callbacks;

/// <summary>
/// An operator's commands for the calls to clients. A delivery is the calls to one client about one slice of a load. A client that doesn't
/// exist is a <see cref="NotPossibleException"/>.
/// </summary>
public sealed class CallbackOperations(
    ICallbacks callbacks, ICallbackClients clients, ICallbackBlobs blobs, IWorkRegister register, ILoads loads, CallSchedule schedule)
{
    /// <summary>Lists the deliveries by client and breach; a removed client has no name.</summary>
    public async Task<IReadOnlyList<(string? Client, CallbackSummary Summary)>> ListAsync(CancellationToken cancellationToken)
    {
        var names = (await clients.ListAsync(cancellationToken)).ToDictionary(client => client.Number, client => client.Name);
        return [.. (await callbacks.ListCallbacksAsync(cancellationToken)).Select(
            summary => (names.GetValueOrDefault(summary.Client), summary))];
    }

    /// <summary>Resumes calls to a paused client, and reopens the loads that Sweep closed while only paused clients had calls.</summary>
    public async Task<CallbackClient> ResumeAsync(ClientOperations operations, string client, CancellationToken cancellationToken)
    {
        // Before, so that a crash loses no call; and after, because Sweep may have closed loads in between.
        await MarkOpenAsync(null, load => load.Calls is { Open: > 0 }, cancellationToken);
        var resumed = await operations.SetPausedAsync(client, false, cancellationToken);
        await MarkOpenAsync(null, load => load.Calls is { Open: > 0 }, cancellationToken);
        await schedule.SweepAsync(cancellationToken);
        return resumed;
    }

    /// <summary>
    /// Retries the abandoned deliveries to a client. Returns the number of their calls, and of loads whose slices are read again.
    /// </summary>
    /// <param name="client">If null, those to all clients are retried, and slices that could not be read.</param>
    public async Task<(long Calls, int Loads)> RetryAsync(string? client, string? breach, CancellationToken cancellationToken)
    {
        var number = await NumberAsync(client, cancellationToken);
        var marked = await MarkOpenAsync(
            breach, load => load.Calls is { Abandoned: > 0 } or { Open: > 0 } or { IsFailed: true }, cancellationToken);
        var calls = await callbacks.RetryDeliveriesAsync(number, breach, cancellationToken);
        await schedule.SweepAsync(cancellationToken);
        var failed = number is null ? marked.Where(load => load.Calls is { IsFailed: true }).ToList() : [];
        foreach (var load in failed)
            await schedule.RetryAsync(load.Id, cancellationToken);
        return (calls, failed.Count);
    }

    /// <summary>Discards abandoned deliveries, of one client and one breach unless null. Returns the number of their calls.</summary>
    /// <param name="withOpen">Discards calls that are still to be made, too.</param>
    public async Task<long> DropAsync(string? client, string? breach, bool withOpen, CancellationToken cancellationToken)
    {
        var number = await NumberAsync(client, cancellationToken);
        await MarkOpenAsync(breach, load => load.Calls is { Abandoned: > 0 } or { Open: > 0 }, cancellationToken);
        var (deliveries, calls) = await callbacks.DropDeliveriesAsync(
            number, breach, withOpen, "dropped by an operator (hibp callbacks drop)", cancellationToken);
        foreach (var delivery in deliveries)
            await blobs.DeleteAsync(delivery, cancellationToken);
        return calls;
    }

    /// <summary>Marks loads as open, so that Sweep continues if this process dies or a message is lost.</summary>
    private async Task<IReadOnlyList<Load>> MarkOpenAsync(string? breach, Func<Load, bool> filter, CancellationToken cancellationToken)
    {
        var found = (await loads.ListLoadsAsync(breach, cancellationToken)).Where(filter).ToList();
        foreach (var load in found)
            await register.MarkOpenAsync(load.Id, cancellationToken);
        return found;
    }

    // By name, or by number, because a removed client has no name.
    private async Task<int?> NumberAsync(string? client, CancellationToken cancellationToken) =>
        client is null ? null
        : (await clients.ListAsync(cancellationToken)).FirstOrDefault(
            one => one.Name.Equals(client, StringComparison.OrdinalIgnoreCase))?.Number
            ?? (int.TryParse(client, NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : (int?)null)
            ?? throw new NotPossibleException($"there is no client '{client}'; see: hibp clients list");
}
