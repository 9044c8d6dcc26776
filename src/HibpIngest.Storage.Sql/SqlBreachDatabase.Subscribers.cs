namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    private protected const int HashLength = 64;

    private const int ReasonLength = 20;

    public abstract Task<SubscribersImported> ImportSubscribersAsync(
        IReadOnlyCollection<Subscription> subscriptions, SuppressionKey? key, CancellationToken cancellationToken);

    public Task<string?> GetSuppressionKeyCheckAsync(CancellationToken cancellationToken) => ReadAsync(ReadCheckAsync, cancellationToken);

    public Task<IReadOnlyList<Suppression>> ListSuppressionsAsync(CancellationToken cancellationToken) => ListAsync(
        "SELECT hash, reason, suppressed_at FROM dbo.suppressions",
        ReadSuppression, cancellationToken);

    public Task<SubscribersRemoved> RemoveSubscribersAsync(
        IReadOnlyCollection<SubscriberRemoval> removals, string? check, bool erase, CancellationToken cancellationToken) =>
        RemoveAsync(session => RemoveAsync(session, removals, check, cancellationToken), erase, cancellationToken);

    public Task<SubscribersRemoved> ApplySuppressionsAsync(
        IReadOnlyCollection<Suppression> suppressions, SuppressionKey key, bool erase, CancellationToken cancellationToken) =>
        RemoveAsync(session => ApplyAsync(session, suppressions, key, cancellationToken), erase, cancellationToken);

    /// <summary>Removes in one transaction and, if requested and possible, erases the data from the file.</summary>
    private protected virtual Task<SubscribersRemoved> RemoveAsync(
        Func<ISqlSession, Task<SubscribersRemoved>> remove, bool erase, CancellationToken cancellationToken) =>
        WriteAsync(remove, cancellationToken, isLong: true);

    private async Task<SubscribersRemoved> ApplyAsync(
        ISqlSession session, IReadOnlyCollection<Suppression> suppressions, SuppressionKey key, CancellationToken cancellationToken)
    {
        // Lock before reading the subscribers: none is added until this transaction ends.
        await LockSubscribersAsync(session);
        var hashes = suppressions.Select(one => one.Hash).ToHashSet();
        var removals = new List<SubscriberRemoval>();
        await foreach (var (email, domain) in ListByPageAsync(last => ReadSubscribersAsync(session, last)))
        {
            cancellationToken.ThrowIfCancellationRequested();
            if (hashes.Contains(key.HashOf(email)))
                removals.Add(new SubscriberRemoval(email, null, null));
            else if (domain is not null && hashes.Contains(key.HashOf(email, domain)))
                removals.Add(new SubscriberRemoval(email, domain, null));
        }
        var requested = await session.ListAsync("SELECT DISTINCT email FROM dbo.subscription_requests", row => row.Text("email"));
        removals.AddRange(requested.Where(email => hashes.Contains(key.HashOf(email))).Select(
            email => new SubscriberRemoval(email, null, null)));
        var removed = await RemoveAsync(session, removals, key.Check, cancellationToken);
        foreach (var one in suppressions)
        {
            cancellationToken.ThrowIfCancellationRequested();
            await PutAsync(session, one);
        }
        return removed;
    }

    private async Task<SubscribersRemoved> RemoveAsync(
        ISqlSession session, IReadOnlyCollection<SubscriberRemoval> removals, string? check, CancellationToken cancellationToken)
    {
        await LockSubscribersAsync(session);
        if (check is not null)
            await PutCheckAsync(session, check);
        var (subscriptions, notifications) = (0, 0);
        foreach (var removal in removals)
        {
            cancellationToken.ThrowIfCancellationRequested();
            const string Of = "email = @email AND (@all = 1 OR domain = @domain)";
            var (email, domain) = Normalise(new Subscription(removal.Email, removal.Domain));
            Parameter[] parameters =
            [
                Text("@email", email, EmailLength), Text("@domain", domain, DomainLength), Bit("@all", removal.Domain is null),
            ];
            var removed = await DeleteSubscribersAsync(session, Of, parameters);
            (subscriptions, notifications) = (subscriptions + removed.Subscriptions, notifications + removed.Notifications);
            await session.ExecuteAsync($"DELETE FROM dbo.subscription_requests WHERE {Of}", parameters);
            if (removal.Suppression is { } suppression)
                await PutAsync(session, suppression);
        }
        return new SubscribersRemoved(subscriptions, notifications);
    }

    private static async Task<SubscribersRemoved> DeleteSubscribersAsync(
        ISqlSession session, string condition, params Parameter[] parameters)
    {
        var notifications = await session.ExecuteAsync(
            $"DELETE FROM dbo.notifications WHERE subscriber IN (SELECT id FROM dbo.subscribers WHERE {condition})", parameters);
        return new SubscribersRemoved(
            await session.ExecuteAsync($"DELETE FROM dbo.subscribers WHERE {condition}", parameters), notifications);
    }

    public Task<IReadOnlyList<Suppression>> FindSuppressionsAsync(
        IReadOnlyCollection<string> hashes, CancellationToken cancellationToken) => ReadAsync<IReadOnlyList<Suppression>>(async session =>
    {
        var found = new List<Suppression>();
        foreach (var hash in hashes)
        {
            found.AddRange(await session.ListAsync(
                "SELECT hash, reason, suppressed_at FROM dbo.suppressions WHERE hash = @hash", ReadSuppression,
                VarChar("@hash", hash, HashLength)));
        }
        return found;
    }, cancellationToken);

    public Task LiftSuppressionsAsync(IReadOnlyCollection<string> hashes, CancellationToken cancellationToken) =>
        WriteAsync(session => DeleteSuppressionsAsync(session, hashes), cancellationToken);

    private static async Task DeleteSuppressionsAsync(ISqlSession session, IReadOnlyCollection<string> hashes)
    {
        foreach (var hash in hashes)
            await session.ExecuteAsync("DELETE FROM dbo.suppressions WHERE hash = @hash", VarChar("@hash", hash, HashLength));
    }

    /// <summary>Serializes imports and removals of subscribers.</summary>
    private protected virtual Task LockSubscribersAsync(ISqlSession session) => Task.CompletedTask;

    /// <summary>Returns whether any address is suppressed. Throws if the suppressions need another key.</summary>
    private protected static async Task<bool> HasSuppressionsAsync(ISqlSession session, SuppressionKey? key)
    {
        if (await ReadCheckAsync(session) is not { } check)
            return false;
        if (key is null)
            throw new NotPossibleException(Refusals.NoSuppressionKey);
        return check == key.Check ? true : throw Refusals.OtherSuppressionKey();
    }

    private static async Task PutCheckAsync(ISqlSession session, string check)
    {
        if (await session.ExecuteAsync(
            "UPDATE dbo.store_counters SET suppression_check = @check WHERE suppression_check IS NULL OR suppression_check = @check",
            VarChar("@check", check, HashLength)) == 0)
        {
            throw Refusals.OtherSuppressionKey();
        }
    }

    private static async Task PutAsync(ISqlSession session, Suppression suppression)
    {
        Parameter[] values =
        [
            VarChar("@hash", suppression.Hash, HashLength),
            VarChar("@reason", suppression.Reason.ToString().ToLowerInvariant(), ReasonLength), At("@at", suppression.At),
        ];
        if (await session.ExecuteAsync("UPDATE dbo.suppressions SET reason = @reason, suppressed_at = @at WHERE hash = @hash", values) == 0)
            await session.ExecuteAsync("INSERT INTO dbo.suppressions (hash, reason, suppressed_at) VALUES (@hash, @reason, @at)", values);
    }

    private static Task<string?> ReadCheckAsync(ISqlSession session) => session.FirstAsync(
        "SELECT suppression_check FROM dbo.store_counters WHERE suppression_check IS NOT NULL", row => row.Text("suppression_check"));

    private static Suppression ReadSuppression(IRow row) =>
        new(row.Text("hash"), ToReason(row.Text("reason")), row.Time("suppressed_at"));

    private static SuppressionReason ToReason(string text) =>
        Enum.TryParse<SuppressionReason>(text, ignoreCase: true, out var reason) ? reason : SuppressionReason.Forgotten;
}
