namespace HibpIngest.Pipeline.Subscribers;

/// <summary>Adds and removes subscribers. The register is changed first: after a crash, the next start applies the change.</summary>
public sealed class SubscriberOperations(
    ISubscribers subscribers, ISuppressionLog register, ApplySuppressions apply, InstallationKeys keys,
    TimeProvider time)
{
    /// <param name="again">Adds suppressed ones too, at the person's request.</param>
    /// <exception cref="NotPossibleException"><paramref name="again"/> is set, but there is no HIBP_SUPPRESSION_KEY.</exception>
    public async Task<SubscribersImported> AddAsync(
        IReadOnlyCollection<Subscription> wanted, bool again, CancellationToken cancellationToken)
    {
        if (again)
        {
            var known = RequireKey();
            await apply.CheckKeyAsync(cancellationToken);
            var hashes = wanted.SelectMany(one => (string[])[known.HashOf(one.Email), known.HashOf(one.Email, one.Domain)]).ToHashSet();
            foreach (var hash in hashes)
                await DeleteSuppressionsAsync(hash, cancellationToken);
            await subscribers.LiftSuppressionsAsync(hashes, cancellationToken);
        }
        return await subscribers.ImportSubscribersAsync(wanted, keys.Suppression, cancellationToken);
    }

    internal async Task<bool> IsSuppressedAsync(string email, string? domain, CancellationToken cancellationToken)
    {
        var known = RequireKey();
        return (await subscribers.FindSuppressionsAsync([known.HashOf(email), known.HashOf(email, domain)], cancellationToken)).Count > 0;
    }

    /// <summary>Changes the register only; the database is another step.</summary>
    internal Task DeleteSuppressionsAsync(string hash, CancellationToken cancellationToken) => register.AppendSuppressionAsync(
        new Suppression(hash, SuppressionReason.Unsubscribed, time.GetUtcNow()), lifted: true, cancellationToken);

    /// <param name="domains">Domains whose subscriptions are removed; empty for all subscriptions of an address.</param>
    /// <param name="reason">Reason of the suppression; null to record none, so that an import may add them again.</param>
    /// <exception cref="NotPossibleException">There is a reason, but no HIBP_SUPPRESSION_KEY.</exception>
    public async Task<SubscribersRemoved> RemoveAsync(
        IReadOnlyCollection<string> emails, IReadOnlyCollection<string> domains, SuppressionReason? reason,
        CancellationToken cancellationToken)
    {
        var targets = emails.SelectMany(email => domains.Count == 0 ? [(email, null)] : domains.Select(domain => (email, (string?)domain)))
            .ToList();
        if (reason is not { } because)
        {
            var withoutReason = targets.Select(one => new SubscriberRemoval(one.email, one.Item2, null)).ToList();
            return await subscribers.RemoveSubscribersAsync(withoutReason, check: null, erase: false, cancellationToken);
        }
        var known = RequireKey();
        // The register must not be bound to a key under which neither of them has suppressions.
        await apply.CheckKeyAsync(cancellationToken);
        var hashes = targets.Select(one => known.HashOf(one.email, one.Item2)).ToList();
        var forgotten = (await subscribers.FindSuppressionsAsync(hashes, cancellationToken))
            .Where(one => one.Reason == SuppressionReason.Forgotten).ToDictionary(one => one.Hash);
        var removals = targets.Zip(hashes, (one, hash) => new SubscriberRemoval(one.email, one.Item2, Of(hash))).ToList();
        if (await register.AddSuppressionKeyCheckAsync(known.Check, cancellationToken) != known.Check)
            throw new StoreMismatchException("HIBP_SUPPRESSION_KEY is not the key that was used before: set it to the earlier key");
        foreach (var removal in removals)
            await register.AppendSuppressionAsync(removal.Suppression!, lifted: false, cancellationToken);
        return await subscribers.RemoveSubscribersAsync(
            removals, known.Check, erase: because == SuppressionReason.Forgotten, cancellationToken);

        // A later bounce doesn't replace the reason of an address that asked to be forgotten.
        Suppression Of(string hash) => forgotten.GetValueOrDefault(hash) ?? new Suppression(hash, because, time.GetUtcNow());
    }

    /// <returns>False if there is no HIBP_SUPPRESSION_KEY, and nothing was changed.</returns>
    internal async Task<bool> TrySuppressAsync(string email, SuppressionReason reason, CancellationToken cancellationToken)
    {
        if (keys.Suppression is null)
            return false;
        await RemoveAsync([email], [], reason, cancellationToken);
        return true;
    }

    internal SuppressionKey RequireKey() => keys.Suppression ?? throw new NotPossibleException(
        "HIBP_SUPPRESSION_KEY is needed for this: suppressed addresses are stored as hashes under it; create one with: openssl rand "
        + "-base64 32, keep it, and set it for every host");
}
