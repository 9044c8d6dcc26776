using static HibpIngest.Storage.Sql.Parameter;
using static HibpIngest.Storage.Sql.StoredText;

namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    // The longest window of a limit.
    private static readonly TimeSpan KeepMails = TimeSpan.FromDays(30);

    // A command is accepted until 7 days after its time, which may lie as far ahead.
    private static readonly TimeSpan KeepCommands = TimeSpan.FromDays(15);

    public Task<RequestOutcome> RequestSubscriptionAsync(
        Guid command, string email, IReadOnlyList<MailLimit> limits, TimeSpan validFor, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            // Of two requests that would both be within a limit, the second counts the first.
            await LockSubscribersAsync(session);
            await DeleteExpiredAsync(session);
            if (await IsAppliedAsync(session, command))
                return new RequestOutcome(await FindDueAsync(session, command));
            foreach (var limit in limits)
            {
                var sent = await session.NumberAsync(
                    "SELECT COUNT(*) FROM dbo.request_mails WHERE limit_key = @key AND sent_at > @since",
                    LimitKey(limit.Key), FromNow("@since", -limit.Window));
                if (sent >= limit.Max)
                    return new RequestOutcome(null, limit);
            }
            var address = Text("@email", email, EmailLength);
            var until = FromNow("@until", validFor);
            if (await session.ExecuteAsync(
                "UPDATE dbo.subscription_requests SET expires_at = @until WHERE email = @email", address, until) == 0)
            {
                // A subscribed address keeps its id.
                var known = await FindIdAsync(session, "dbo.subscribers", "email = @email AND domain = ''", address);
                await session.ExecuteAsync(
                    "INSERT INTO dbo.subscription_requests (link_id, email, expires_at) VALUES (@id, @email, @until)",
                    Id("@id", known ?? Guid.NewGuid()), address, until);
            }
            var request = (await FindIdAsync(session, "dbo.subscription_requests", "email = @email", address))!.Value;
            foreach (var key in limits.Select(limit => limit.Key).Distinct())
                await session.ExecuteAsync("INSERT INTO dbo.request_mails (limit_key, sent_at) VALUES (@key, @now)", LimitKey(key));
            await AddCommandAsync(session, command, request);
            return new RequestOutcome(new MailDue(request, email));
        }, cancellationToken);

    public Task<KnownSubscription?> FindSubscriptionAsync(Guid id, CancellationToken cancellationToken) => ReadAsync(
        session => session.FirstAsync(
            """
            SELECT email, domain, 1 AS is_verified FROM dbo.subscribers WHERE link_id = @id
            UNION ALL
            SELECT email, '', 0 FROM dbo.subscription_requests WHERE link_id = @id AND expires_at > @now
            ORDER BY is_verified
            """,
            row => new KnownSubscription(new Subscription(row.Text("email"), DomainOrNull(row)), row.Int32("is_verified") == 1),
            Id("@id", id)),
        cancellationToken);

    public Task<MailDue?> VerifySubscriptionAsync(
        Guid command, Guid request, string suppression, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        await LockSubscribersAsync(session);
        if (await IsAppliedAsync(session, command))
            return await FindDueAsync(session, command);
        var email = await session.FirstAsync(
            "SELECT email FROM dbo.subscription_requests WHERE link_id = @id AND expires_at > @now", row => row.Text("email"),
            Id("@id", request));
        if (email is null)
            return null;
        var address = Text("@email", email, EmailLength);
        await session.ExecuteAsync("DELETE FROM dbo.suppressions WHERE hash = @hash", VarChar("@hash", suppression, HashLength));
        await session.ExecuteAsync("DELETE FROM dbo.subscription_requests WHERE link_id = @id", Id("@id", request));
        if (await FindIdAsync(session, "dbo.subscribers", "email = @email AND domain = ''", address) is not { } subscription)
        {
            subscription = request;
            await AddSubscriberAsync(session, request, email);
        }
        await AddCommandAsync(session, command, subscription);
        return new MailDue(subscription, email);
    }, cancellationToken);

    public Task RecordCommandMailAsync(Guid command, CancellationToken cancellationToken) => WriteAsync(
        "UPDATE dbo.commands SET mailed_at = @now WHERE id = @id", cancellationToken, Id("@id", command));

    public Task DeleteExpiredRequestsAsync(CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        await LockSubscribersAsync(session);
        await DeleteExpiredAsync(session);
    }, cancellationToken);

    /// <summary>Adds the subscription of an address to itself, which has none.</summary>
    private protected abstract Task AddSubscriberAsync(ISqlSession session, Guid id, string email);

    private static async Task DeleteExpiredAsync(ISqlSession session)
    {
        await session.ExecuteAsync("DELETE FROM dbo.subscription_requests WHERE expires_at <= @now");
        await session.ExecuteAsync("DELETE FROM dbo.request_mails WHERE sent_at <= @since", FromNow("@since", -KeepMails));
        await session.ExecuteAsync("DELETE FROM dbo.commands WHERE applied_at <= @since", FromNow("@since", -KeepCommands));
    }

    private static Task<bool> IsAppliedAsync(ISqlSession session, Guid command) =>
        session.AnyAsync("SELECT 1 FROM dbo.commands WHERE id = @id", Id("@id", command));

    /// <summary>Returns the mail of a command that was applied before.</summary>
    /// <returns>Null: it was sent, or its subscription is gone.</returns>
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

    private static async Task<Guid?> FindIdAsync(ISqlSession session, string table, string condition, Parameter parameter) =>
        await session.ListAsync($"SELECT link_id FROM {table} WHERE {condition}", row => row.Guid("link_id"), parameter) is [var id, ..]
            ? id : null;

    private static Parameter LimitKey(string key) => VarChar("@key", key, HashLength);
}
