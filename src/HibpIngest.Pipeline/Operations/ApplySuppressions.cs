using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// Brings the database to what the register knows of who is not to be told: it lacks some of that where it was restored from
/// a backup, or where a command was broken off between the two. May be run at any time, beside itself, and again.
/// </summary>
public sealed class ApplySuppressions(ISuppressions suppressions, ISuppressionLog register, InstallationKeys keys)
{
    /// <summary>In one transaction: what is done stays done, should it be broken off.</summary>
    private const int AtOnce = 10_000;

    /// <summary>Makes sure that the key is there, and the right one, where it was ever used.</summary>
    /// <exception cref="StoreMismatchException">It is not.</exception>
    public async Task CheckKeyAsync(CancellationToken cancellationToken)
    {
        string?[] checks = [await suppressions.GetSuppressionCheckAsync(cancellationToken), await FindCheckAsync(cancellationToken)];
        foreach (var check in checks)
        {
            if (check is null || check == keys.Suppression?.Check)
                continue;
            throw new StoreMismatchException((keys.Suppression is null or { Check: "" }
                ? "HIBP_SUPPRESSION_KEY is not set, nor is there a file suppression.key in HIBP_HOME beside the emulator, and there are "
                + "addresses that are not to be told, known by that key"
                : "HIBP_SUPPRESSION_KEY is another than the one under which the addresses are known that are not to be told")
                + ": set the one that was used before; without it an import would bring back who has asked to be forgotten");
        }
    }

    /// <summary>
    /// Checks the key, then applies what the database lacks: records it, and takes subscriptions and mails away. Whoever wished to be
    /// told again since is taken out of its suppressions.
    /// </summary>
    /// <returns>How many it lacked.</returns>
    /// <exception cref="StoreMismatchException">As in <see cref="CheckKeyAsync"/>.</exception>
    public async Task<int> RunAsync(CancellationToken cancellationToken)
    {
        await CheckKeyAsync(cancellationToken);
        if (keys.Suppression is not { } key)
            return 0;
        var inDatabase = await suppressions.ListSuppressionsAsync(cancellationToken);
        if (await FindCheckAsync(cancellationToken) is null)
        {
            // The register was lost, or there are none.
            foreach (var one in inDatabase)
                await register.AppendSuppressionAsync(one, lifted: false, cancellationToken);
            if (inDatabase.Count > 0)
                await register.AddSuppressionCheckAsync(key.Check, cancellationToken);
            return 0;
        }
        var known = inDatabase.ToDictionary(one => one.Hash, one => one.Reason);
        var counting = (await register.ListSuppressionsAsync(cancellationToken)).ToDictionary(one => one.Hash);
        if (inDatabase.Any(one => !counting.ContainsKey(one.Hash)))
        {
            // Only what it says is lifted: one that it merely lacks is no permission.
            var lifted = (await register.ListLiftedAsync(cancellationToken)).Where(known.ContainsKey).ToList();
            await suppressions.LiftSuppressionsAsync(lifted, cancellationToken);
        }
        var lacking = counting.Values.Where(one => !known.TryGetValue(one.Hash, out var reason) || reason != one.Reason).ToList();
        // Those whom nobody subscribes under, too: an import would bring them back.
        foreach (var some in lacking.Chunk(AtOnce))
        {
            await suppressions.ApplySuppressionsAsync(
                some, key, erase: some.Any(one => one.Reason == SuppressionReason.Forgotten), cancellationToken);
        }
        return lacking.Count;
    }

    private async Task<string?> FindCheckAsync(CancellationToken cancellationToken)
    {
        try
        {
            return await register.GetSuppressionCheckAsync(cancellationToken);
        }
        catch (StoreMissingException)
        {
            return null; // no register yet
        }
    }
}
