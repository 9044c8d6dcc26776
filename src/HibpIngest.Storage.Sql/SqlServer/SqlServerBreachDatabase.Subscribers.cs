namespace HibpIngest.Storage.Sql.SqlServer;

public sealed partial class SqlServerBreachDatabase
{
    private const int ImportPage = 4_000;

    public override Task<SubscribersImported> ImportSubscribersAsync(
        IReadOnlyCollection<Subscription> subscriptions, SuppressionKey? key, CancellationToken cancellationToken)
    {
        var wanted = subscriptions.Select(Normalise).Distinct().ToList();
        if (wanted.Exists(one => one.Email.Length > EmailLength || one.Domain.Length > DomainLength))
            throw new BadInputException(
                $"a subscriber's address has at most {EmailLength} characters, a domain {DomainLength}; nothing was imported");
        return WriteAsync(async session =>
        {
            // One import at a time: ids are then committed in order, so "all up to the highest" always names the same subscriptions.
            await LockSubscribersAsync(session);
            var (added, suppressed) = (0, 0);
            var hashes = await HasSuppressionsAsync(session, key) ? key : null;
            foreach (var page in wanted.Chunk(ImportPage))
            {
                var json = LongText("@subscriptions", ToJson(page, hashes));
                if (hashes is not null)
                {
                    suppressed += (int)(await session.NumberAsync("""
                        SELECT COUNT_BIG(*)
                        FROM OPENJSON(@subscriptions) WITH (address varchar(64) '$.h', subscription varchar(64) '$.s') n
                        WHERE EXISTS (SELECT 1 FROM dbo.suppressions x WHERE x.hash = n.address COLLATE Latin1_General_100_BIN2
                            OR x.hash = n.subscription COLLATE Latin1_General_100_BIN2)
                        """, json))!.Value;
                }
                added += await session.ExecuteAsync("""
                    INSERT INTO dbo.subscribers (email, domain, match_domain, match_alias)
                    SELECT n.email, n.domain, n.match_domain, n.match_alias
                    FROM OPENJSON(@subscriptions) WITH (
                        place int '$.i', email nvarchar(320) '$.e', domain nvarchar(255) '$.d',
                        match_domain varchar(255) '$.md', match_alias varchar(64) '$.ma',
                        address varchar(64) '$.h', subscription varchar(64) '$.s') n
                    WHERE NOT EXISTS (
                        SELECT 1 FROM dbo.subscribers s
                        WHERE s.email = n.email COLLATE Latin1_General_100_BIN2 AND s.domain = n.domain COLLATE Latin1_General_100_BIN2)
                        AND NOT EXISTS (SELECT 1 FROM dbo.suppressions x WHERE x.hash = n.address COLLATE Latin1_General_100_BIN2
                            OR x.hash = n.subscription COLLATE Latin1_General_100_BIN2)
                    ORDER BY n.place
                    """, json);
            }
            return new SubscribersImported(added, suppressed);
        }, cancellationToken, isLong: true);
    }

    private protected override Task AddSubscriberAsync(ISqlSession session, Guid id, string email, string domain)
    {
        var (matchDomain, matchAlias) = MatchedBy(email, domain);
        return session.ExecuteAsync("""
            INSERT INTO dbo.subscribers (link_id, email, domain, match_domain, match_alias)
            VALUES (@id, @email, @domain, @match_domain, @match_alias)
            """, Id("@id", id), Text("@email", email, EmailLength), Text("@domain", domain, DomainLength),
            VarChar("@match_domain", matchDomain, DomainLength), VarChar("@match_alias", matchAlias, AliasLength));
    }

    private static string ToJson((string Email, string Domain)[] subscriptions, SuppressionKey? hashes) => JsonSerializer.Serialize(
        subscriptions.Select((one, i) =>
        {
            var (domain, alias) = MatchedBy(one.Email, one.Domain);
            // No account has such a domain or alias, and a code page conversion must not turn it into an existing one.
            if (!IsAccounts(domain, DomainLength) || alias is not null && !IsAccounts(alias, AliasLength))
                (domain, alias) = ("", alias is null ? null : "");
            return new Dictionary<string, object?>
            {
                ["i"] = i,
                ["e"] = one.Email,
                ["d"] = one.Domain,
                ["md"] = domain,
                ["ma"] = alias,
                ["h"] = hashes?.HashOf(one.Email),
                ["s"] = hashes?.HashOf(one.Email, one.Domain),
            };
        }));

    private static bool IsAccounts(string part, int length) => part.Length <= length && Ascii.IsValid(part);

    private protected override async Task LockSubscribersAsync(ISqlSession session)
    {
        var answer = await session.NumberAsync("""
            DECLARE @answer int;
            EXEC @answer = sp_getapplock @Resource = N'hibp subscribers', @LockMode = 'Exclusive', @LockOwner = 'Transaction',
                @LockTimeout = @timeout;
            SELECT @answer
            """, Milliseconds("@timeout", TimeSpan.FromMinutes(2)));
        if (answer is not >= 0)
            throw new UnavailableException("another import of subscribers is in progress: wait until it ends");
    }
}
