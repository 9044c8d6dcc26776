namespace HibpIngest.Pipeline.Subscribers;

/// <summary>Applies the register's suppressions to the database, which may lack some after a restore or a crash. Idempotent.</summary>
public sealed class ApplySuppressions(ISubscribers suppressions, ISuppressionLog register, InstallationKeys keys)
{
    /// <summary>Suppressions applied in one transaction; those stay applied if the run is interrupted.</summary>
    private const int ChunkSize = 10_000;

    /// <summary>Checks that the key is set and the same as before, if one was ever used.</summary>
    public async Task CheckKeyAsync(CancellationToken cancellationToken)
    {
        string?[] checks = [await suppressions.GetSuppressionKeyCheckAsync(cancellationToken), await FindCheckAsync(cancellationToken)];
        foreach (var check in checks)
        {
            if (check is null || check == keys.Suppression?.Check)
                continue;
            throw new StoreMismatchException((keys.Suppression is null or { Check: "" }
                ? "HIBP_SUPPRESSION_KEY is not set, nor is there a file suppression.key in HIBP_HOME, but there are "
                + "suppressed addresses, stored as hashes under that key"
                : "HIBP_SUPPRESSION_KEY is not the key that the suppressed addresses were hashed under")
                + ": set the key that was used before; without it, an import would add forgotten addresses again");
        }
    }

    /// <summary>
    /// Checks the key, then applies to the database the suppressions that only the register has, which deletes their subscriptions and
    /// unsent mails, and lifts those that the register records as lifted. A register without suppressions gets the database's.
    /// </summary>
    /// <returns>The number of suppressions that the database lacked.</returns>
    public async Task<int> RunAsync(CancellationToken cancellationToken)
    {
        await CheckKeyAsync(cancellationToken);
        if (keys.Suppression is not { } key)
            return 0;
        var inDatabase = await suppressions.ListSuppressionsAsync(cancellationToken);
        if (await FindCheckAsync(cancellationToken) is null)
        {
            // The register was lost, or there are no suppressions.
            foreach (var one in inDatabase)
                await register.AppendSuppressionAsync(one, lifted: false, cancellationToken);
            if (inDatabase.Count > 0)
                await register.AddSuppressionKeyCheckAsync(key.Check, cancellationToken);
            return 0;
        }
        var known = inDatabase.ToDictionary(one => one.Hash, one => one.Reason);
        var inRegister = (await register.ListSuppressionsAsync(cancellationToken)).ToDictionary(one => one.Hash);
        if (inDatabase.Any(one => !inRegister.ContainsKey(one.Hash)))
        {
            // Lifts only suppressions that the register records as lifted: one that is merely missing there may not be lifted.
            var lifted = (await register.ListLiftedAsync(cancellationToken)).Where(known.ContainsKey).ToList();
            await suppressions.LiftSuppressionsAsync(lifted, cancellationToken);
        }
        var missing = inRegister.Values.Where(one => !known.TryGetValue(one.Hash, out var reason) || reason != one.Reason).ToList();
        // Addresses without a subscription are included, because an import would restore them.
        foreach (var some in missing.Chunk(ChunkSize))
        {
            await suppressions.ApplySuppressionsAsync(
                some, key, erase: some.Any(one => one.Reason == SuppressionReason.Forgotten), cancellationToken);
        }
        return missing.Count;
    }

    private async Task<string?> FindCheckAsync(CancellationToken cancellationToken)
    {
        try
        {
            return await register.GetSuppressionKeyCheckAsync(cancellationToken);
        }
        catch (StoreMissingException)
        {
            return null; // no register yet
        }
    }
}
