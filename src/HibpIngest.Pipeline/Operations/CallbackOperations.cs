using System.Globalization;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>What an operator can have done to the calls of clients.</summary>
public sealed class CallbackOperations(
    ICallbacks callbacks, ICallbackClients clients, ICallbackBlobs blobs, IOpenLoads register, ILoads loads, CallSchedule schedule)
{
    /// <summary>What there is of each client and breach; a client that was removed has no name.</summary>
    public async Task<IReadOnlyList<(string? Client, CallbackSummary Summary)>> ListAsync(CancellationToken cancellationToken)
    {
        var names = (await clients.ListAsync(cancellationToken)).ToDictionary(client => client.Number, client => client.Name);
        return [.. (await callbacks.ListCallbacksAsync(cancellationToken)).Select(
            summary => (names.GetValueOrDefault(summary.Client), summary))];
    }

    /// <summary>
    /// Calls a paused client again. Loads that nothing but its calls keeps waiting are over for Sweep while it is paused, and are
    /// opened again.
    /// </summary>
    /// <exception cref="NotPossibleException">There is no such client.</exception>
    public async Task<CallbackClient> ResumeAsync(ClientOperations operations, string client, CancellationToken cancellationToken)
    {
        // Before, so that a crash loses no call; and after, as Sweep may have closed them in between.
        await MarkOpenAsync(null, load => load.Calls is { Open: > 0 }, cancellationToken);
        var resumed = await operations.SetPausedAsync(client, false, cancellationToken);
        await MarkOpenAsync(null, load => load.Calls is { Open: > 0 }, cancellationToken);
        await schedule.SweepAsync(cancellationToken);
        return resumed;
    }

    /// <summary>
    /// Has calls made that were given up, and, of all clients, slices looked through again that could not be read. Returns how many calls,
    /// and of how many loads.
    /// </summary>
    /// <param name="client">To whom; null: to all.</param>
    /// <param name="breach">Because of which breach; null: of all.</param>
    /// <exception cref="NotPossibleException">There is no such client.</exception>
    public async Task<(long Calls, int Loads)> RetryAsync(string? client, string? breach, CancellationToken cancellationToken)
    {
        var number = await NumberAsync(client, cancellationToken);
        var marked = await MarkOpenAsync(
            breach, load => load.Calls is { Dead: > 0 } or { Open: > 0 } or { IsFailed: true }, cancellationToken);
        var calls = await callbacks.RetryDeliveriesAsync(number, breach, cancellationToken);
        await schedule.SweepAsync(cancellationToken);
        var failed = number is null ? marked.Where(load => load.Calls is { IsFailed: true }).ToList() : [];
        foreach (var load in failed)
            await schedule.RetryAsync(load.Id, cancellationToken);
        return (calls, failed.Count);
    }

    /// <summary>Calls that were given up are forgotten, and with <paramref name="withOpen"/> those that are to be made too. Returns how
    /// many.</summary>
    /// <param name="client">To whom; null: to all.</param>
    /// <param name="breach">Because of which breach; null: of all.</param>
    /// <param name="withOpen">Those that are to be made, too.</param>
    /// <exception cref="NotPossibleException">There is no such client.</exception>
    public async Task<long> DropAsync(string? client, string? breach, bool withOpen, CancellationToken cancellationToken)
    {
        var number = await NumberAsync(client, cancellationToken);
        await MarkOpenAsync(breach, load => load.Calls is { Dead: > 0 } or { Open: > 0 }, cancellationToken);
        var (deliveries, calls) = await callbacks.DropDeliveriesAsync(
            number, breach, withOpen, "dropped by an operator (hibp callbacks drop)", cancellationToken);
        foreach (var delivery in deliveries)
            await blobs.DeleteAsync(delivery, cancellationToken);
        return calls;
    }

    /// <summary>So that Sweep sees to them, should this process die, or a message be lost.</summary>
    private async Task<IReadOnlyList<Load>> MarkOpenAsync(string? breach, Func<Load, bool> which, CancellationToken cancellationToken)
    {
        var found = (await loads.ListLoadsAsync(breach, cancellationToken)).Where(which).ToList();
        foreach (var load in found)
            await register.MarkOpenAsync(load.Id, cancellationToken);
        return found;
    }

    /// <summary>By its name; by its number too, as one that was removed has no name.</summary>
    private async Task<int?> NumberAsync(string? client, CancellationToken cancellationToken) =>
        client is null ? null
        : (await clients.ListAsync(cancellationToken)).FirstOrDefault(
            one => one.Name.Equals(client, StringComparison.OrdinalIgnoreCase))?.Number
            ?? (int.TryParse(client, NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : (int?)null)
            ?? throw new NotPossibleException($"there is no client '{client}'; hibp clients list shows those there are");
}
