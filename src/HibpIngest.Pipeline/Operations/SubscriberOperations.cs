using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// Takes subscribers away so that no import brings them back, and takes them in again where they wish. The register is
/// changed first: what a crash keeps from the database, the next start applies to it.
/// </summary>
public sealed class SubscriberOperations(
    ISubscribers subscribers, ISuppressions suppressions, ISuppressionLog register, ApplySuppressions apply, InstallationKeys keys,
    TimeProvider time)
{
    /// <summary>Subscribes to an address's own accounts, or to domains.</summary>
    /// <param name="again">Those that are suppressed too: the person wishes it.</param>
    /// <exception cref="NotPossibleException">There are suppressions, and no key.</exception>
    public async Task<SubscribersImported> AddAsync(
        IReadOnlyCollection<Subscription> wanted, bool again, CancellationToken cancellationToken)
    {
        if (again)
        {
            var known = RequireKey();
            await apply.RunAsync(cancellationToken); // what the database doesn't know yet is to be lifted, too
            var hashes = wanted.SelectMany(one => (string[])[known.HashOf(one.Email), known.HashOf(one.Email, one.Domain)]).ToHashSet();
            var lifted = (await suppressions.ListSuppressionsAsync(cancellationToken)).Where(one => hashes.Contains(one.Hash)).ToList();
            foreach (var one in lifted)
                await register.AppendSuppressionAsync(one with { At = Now }, lifted: true, cancellationToken);
            await suppressions.LiftSuppressionsAsync([.. lifted.Select(one => one.Hash)], cancellationToken);
        }
        return await subscribers.ImportSubscribersAsync(wanted, keys.Suppression, cancellationToken);
    }

    /// <summary>Takes subscriptions away, with what waits to be mailed to them.</summary>
    /// <param name="domains">Of these domains; none: all of an address.</param>
    /// <param name="reason">What keeps an import from bringing them back; null: nothing does.</param>
    /// <exception cref="NotPossibleException">There is a reason, and no key.</exception>
    public async Task<SubscribersRemoved> RemoveAsync(
        IReadOnlyCollection<string> emails, IReadOnlyCollection<string> domains, SuppressionReason? reason,
        CancellationToken cancellationToken)
    {
        var whose = emails.SelectMany(email => domains.Count == 0 ? [(email, null)] : domains.Select(domain => (email, (string?)domain)))
            .ToList();
        if (reason is not { } because)
        {
            return await suppressions.RemoveSubscribersAsync(
                [.. whose.Select(one => new SubscriberRemoval(one.email, one.Item2, null))], check: null, erase: false, cancellationToken);
        }
        var known = RequireKey();
        // Under another key than either of them knows, the register must not be bound to it.
        await apply.RunAsync(cancellationToken);
        var forgotten = (await suppressions.ListSuppressionsAsync(cancellationToken))
            .Where(one => one.Reason == SuppressionReason.Forgotten).ToDictionary(one => one.Hash);
        var removals = whose.Select(one => new SubscriberRemoval(one.email, one.Item2, Of(known.HashOf(one.email, one.Item2)))).ToList();
        if (await register.AddSuppressionCheckAsync(known.Check, cancellationToken) != known.Check)
            throw new StoreMismatchException("HIBP_SUPPRESSION_KEY is another than the one that was used before: set that one");
        foreach (var removal in removals)
            await register.AppendSuppressionAsync(removal.Suppression!, lifted: false, cancellationToken);
        return await suppressions.RemoveSubscribersAsync(
            removals, known.Check, erase: because == SuppressionReason.Forgotten, cancellationToken);

        // Mails that still come back from whoever was forgotten make it no less.
        Suppression Of(string hash) => forgotten.GetValueOrDefault(hash) ?? new Suppression(hash, because, Now);
    }

    private DateTimeOffset Now => time.GetUtcNow();

    private SuppressionKey RequireKey() => keys.Suppression ?? throw new NotPossibleException(
        "HIBP_SUPPRESSION_KEY is needed for this: who is not to be told is known by it; make one with: openssl rand -base64 32, keep it, "
        + "and set it for every host");
}
