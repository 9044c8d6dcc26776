namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    // The longest window of a limit.
    private static readonly TimeSpan KeepMails = TimeSpan.FromDays(30);

    // A command is accepted up to 7 days before and after its time; a day to spare.
    private static readonly TimeSpan KeepCommands = TimeSpan.FromDays(15);

    public Task<RequestOutcome> RequestSubscriptionAsync(
        Guid command, SubscriptionRequest wanted, IReadOnlyList<MailLimit> limits, TimeSpan validFor,
        CancellationToken cancellationToken) => WriteAsync(session => CountMailAsync(session, command, wanted.Email, limits, async () =>
    {
        const string IsSame = "email = @email AND domain = @domain AND api_key = @api_key";
        Parameter[] values =
        [
            Text("@email", wanted.Email, EmailLength), Text("@domain", wanted.Domain ?? "", DomainLength),
            VarChar("@api_key", wanted.Key ?? "", HashLength), VarChar("@proof", wanted.Proof?.Name() ?? "", ReasonLength),
            FromNow("@until", validFor),
        ];
        if (await session.ExecuteAsync(
            $"UPDATE dbo.subscription_requests SET proof = @proof, expires_at = @until WHERE {IsSame}", values) == 0)
        {
            // An existing subscription keeps its id.
            var known = wanted.Key is null ? await FindSubscriberAsync(session, wanted.Email, wanted.Domain ?? "") : null;
            await session.ExecuteAsync(
                """
                INSERT INTO dbo.subscription_requests (link_id, email, domain, api_key, proof, expires_at)
                VALUES (@id, @email, @domain, @api_key, @proof, @until)
                """,
                [Id("@id", known ?? Guid.NewGuid()), .. values]);
        }
        return (await FindIdAsync(session, "dbo.subscription_requests", IsSame, values[..3]))!.Value;
    }), cancellationToken);

    public Task<RequestOutcome> RequestSignInAsync(
        Guid command, string email, string domain, IReadOnlyList<MailLimit> limits, CancellationToken cancellationToken) =>
        WriteAsync(
            async session => await FindSubscriberAsync(session, email, domain) is { } id
                ? await CountMailAsync(session, command, email, limits, () => Task.FromResult(id)) : new RequestOutcome(null),
            cancellationToken);

    public Task<bool> CountCheckAsync(Guid command, IReadOnlyList<MailLimit> limits, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
    {
        await LockSubscribersAsync(session);
        var checkKey = command.ToString("N");
        if (await session.AnyAsync("SELECT 1 FROM dbo.request_mails WHERE limit_key = @key", LimitKey(checkKey)))
            return true;
        if (await FindReachedAsync(session, limits) is not null)
            return false;
        await CountAsync(session, [checkKey, .. limits.Select(limit => limit.Key)]);
        return true;
    }, cancellationToken);

    /// <summary>Counts the mail of a command once, unless a limit is reached.</summary>
    /// <param name="about">Returns the id of the subscription or request that the mail is about.</param>
    private async Task<RequestOutcome> CountMailAsync(
        ISqlSession session, Guid command, string email, IReadOnlyList<MailLimit> limits, Func<Task<Guid>> about)
    {
        // Serialises concurrent requests, so that each counts the other's mail.
        await LockSubscribersAsync(session);
        await DeleteExpiredAsync(session);
        if (await IsAppliedAsync(session, command))
            return new RequestOutcome(await FindDueAsync(session, command));
        if (await FindReachedAsync(session, limits) is { } reached)
            return new RequestOutcome(null, reached);
        var id = await about();
        await CountAsync(session, limits.Select(limit => limit.Key));
        await AddCommandAsync(session, command, id);
        return new RequestOutcome(new MailDue(id, email));
    }

    private static async Task<MailLimit?> FindReachedAsync(ISqlSession session, IReadOnlyList<MailLimit> limits)
    {
        foreach (var limit in limits)
        {
            var sent = await session.NumberAsync(
                "SELECT COUNT(*) FROM dbo.request_mails WHERE limit_key = @key AND sent_at > @since",
                LimitKey(limit.Key), FromNow("@since", -limit.Window));
            if (sent >= limit.Max)
                return limit;
        }
        return null;
    }

    private static async Task CountAsync(ISqlSession session, IEnumerable<string> limitKeys)
    {
        foreach (var key in limitKeys.Distinct())
            await session.ExecuteAsync("INSERT INTO dbo.request_mails (limit_key, sent_at) VALUES (@key, @now)", LimitKey(key));
    }

    public Task<KnownSubscription?> FindSubscriptionAsync(Guid id, CancellationToken cancellationToken) => ReadAsync(
        session => session.FirstAsync(
            """
            SELECT email, domain, '' AS api_key, '' AS proof, 1 AS is_verified FROM dbo.subscribers WHERE link_id = @id
            UNION ALL
            SELECT email, domain, api_key, proof, 0 FROM dbo.subscription_requests WHERE link_id = @id AND expires_at > @now
            ORDER BY is_verified -- a request before the subscription of the same id
            """,
            row => new KnownSubscription(
                new Subscription(row.Text("email"), DomainOrNull(row)), row.Int32("is_verified") == 1,
                row.Text("proof") is { Length: > 0 } proof ? ToProof(proof) : null,
                row.Text("api_key") is { Length: > 0 } key ? key : null),
            Id("@id", id)),
        cancellationToken);

    public Task<MailDue?> VerifySubscriptionAsync(
        Guid command, Guid request, IReadOnlyCollection<string> suppressions, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
    {
        await LockSubscribersAsync(session);
        if (await IsAppliedAsync(session, command))
            return await FindDueAsync(session, command);
        var found = await session.FirstAsync(
            "SELECT email, domain, api_key, proof FROM dbo.subscription_requests WHERE link_id = @id AND expires_at > @now",
            row => new { Email = row.Text("email"), Domain = row.Text("domain"), Key = row.Text("api_key"), Proof = row.Text("proof") },
            Id("@id", request));
        if (found is null)
            return null;
        await DeleteSuppressionsAsync(session, suppressions);
        await session.ExecuteAsync("DELETE FROM dbo.subscription_requests WHERE link_id = @id", Id("@id", request));
        if (found.Key.Length > 0)
            return null; // an API key's request ends here: its proof belongs to the key, not to a subscription
        if (await FindSubscriberAsync(session, found.Email, found.Domain) is not { } subscription)
        {
            subscription = request;
            await AddSubscriberAsync(session, request, found.Email, found.Domain);
        }
        if (found.Domain.Length > 0)
            await PutAsync(session, new DomainProof(DomainProof.HolderOf(subscription), found.Domain, ToProof(found.Proof)));
        await AddCommandAsync(session, command, subscription);
        return new MailDue(subscription, found.Email);
    }, cancellationToken);

    public Task RecordCommandMailAsync(Guid command, CancellationToken cancellationToken) => WriteAsync(
        "UPDATE dbo.commands SET mailed_at = @now WHERE id = @id", cancellationToken, Id("@id", command));

    public Task DeleteExpiredRequestsAsync(CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        await LockSubscribersAsync(session);
        await DeleteExpiredAsync(session);
    }, cancellationToken);

    /// <summary>Adds a subscription that doesn't exist yet.</summary>
    /// <param name="domain">The domain; empty for the address itself.</param>
    private protected abstract Task AddSubscriberAsync(ISqlSession session, Guid id, string email, string domain);

    private static async Task DeleteExpiredAsync(ISqlSession session)
    {
        await session.ExecuteAsync("DELETE FROM dbo.subscription_requests WHERE expires_at <= @now");
        await session.ExecuteAsync("DELETE FROM dbo.request_mails WHERE sent_at <= @since", FromNow("@since", -KeepMails));
        await session.ExecuteAsync("DELETE FROM dbo.commands WHERE applied_at <= @since", FromNow("@since", -KeepCommands));
    }

    private static Task<bool> IsAppliedAsync(ISqlSession session, Guid command) =>
        session.AnyAsync("SELECT 1 FROM dbo.commands WHERE id = @id", Id("@id", command));

    /// <returns>Null if the mail was sent, or the subscription was removed.</returns>
    private static Task<MailDue?> FindDueAsync(ISqlSession session, Guid command) => session.FirstAsync(
        """
        SELECT c.link_id, COALESCE(r.email, s.email) AS email
        FROM dbo.commands c
        LEFT JOIN dbo.subscription_requests r ON r.link_id = c.link_id
        LEFT JOIN dbo.subscribers s ON s.link_id = c.link_id
        WHERE c.id = @id AND c.mailed_at IS NULL AND COALESCE(r.email, s.email) IS NOT NULL
        """,
        row => new MailDue(row.Guid("link_id"), row.Text("email")), Id("@id", command))!;

    private static Task<int> AddCommandAsync(ISqlSession session, Guid command, Guid subscription) => session.ExecuteAsync(
        "INSERT INTO dbo.commands (id, link_id, applied_at, mailed_at) VALUES (@id, @link_id, @now, NULL)",
        Id("@id", command), Id("@link_id", subscription));

    private static Task<Guid?> FindSubscriberAsync(ISqlSession session, string email, string domain) => FindIdAsync(
        session, "dbo.subscribers", "email = @email AND domain = @domain", Text("@email", email, EmailLength),
        Text("@domain", domain, DomainLength));

    private static async Task<Guid?> FindIdAsync(ISqlSession session, string table, string condition, params Parameter[] parameters) =>
        await session.ListAsync($"SELECT link_id FROM {table} WHERE {condition}", row => row.Guid("link_id"), parameters) is [var id, ..]
            ? id : null;

    private static Parameter LimitKey(string key) => VarChar("@key", key, HashLength);
}
