using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Json;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using Microsoft.Data.SqlClient;
using static HibpIngest.Sql.SqlServer.Parameter;
using static HibpIngest.Sql.StoredText;

namespace HibpIngest.Sql.SqlServer;

public sealed partial class SqlServerBreachDatabase
{
    private const int EmailLength = 320;

    /// <summary>Subscriptions read at once when listing, and sent at once when importing.</summary>
    private const int SubscriberPage = 1_000;
    private const int ImportPage = 4_000;

    /// <summary>A row for each mark that counts, or one without.</summary>
    private const string BreachColumns =
        """
        SELECT b.name, b.metadata, b.hidden, b.published_at, l.mark FROM dbo.breaches b
        LEFT JOIN dbo.loads l ON l.breach = b.breach_key AND l.published_at IS NOT NULL
        """;

    /// <inheritdoc/>
    public Task<Breach?> GetBreachAsync(string name, CancellationToken cancellationToken) =>
        ReadAsync(
            async session => await ReadBreachesAsync(session, $"{BreachColumns} WHERE b.folded_name = @folded ORDER BY l.mark", Folded(name)) is [var found, ..] ? found : null,
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Breach>> ListBreachesAsync(CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<Breach>>(async session => await ReadBreachesAsync(session, $"{BreachColumns} ORDER BY b.folded_name, l.mark"), cancellationToken);

    /// <inheritdoc/>
    public Task MergeMetadataAsync(string name, ReadOnlyMemory<byte> document, bool byOperator, CancellationToken cancellationToken) =>
        WriteAsync(session => MergeMetadataAsync(session, name, document, byOperator), cancellationToken);

    /// <inheritdoc/>
    public Task<bool> SetHiddenAsync(string name, bool hidden, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                // What was not sent while it was hidden is sent again by the next sweep. The loads come before their
                // breach, as wherever both are held.
                await session.ExecuteAsync(
                    "UPDATE dbo.loads SET message_sent_at = NULL WHERE state = 'notifying' AND breach = (SELECT breach_key FROM dbo.breaches WHERE folded_name = @folded)", Folded(name));
                return await session.ExecuteAsync("UPDATE dbo.breaches SET hidden = @hidden WHERE folded_name = @folded", Folded(name),
                    Bit("@hidden", hidden)) == 1
                    && await RaiseCatalogueVersionAsync(session) == 1;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<int> ImportSubscribersAsync(IReadOnlyCollection<Subscription> subscriptions, CancellationToken cancellationToken)
    {
        var wanted = subscriptions.Select(Normalise).Distinct().ToList();
        if (wanted.Exists(one => one.Email.Length > EmailLength || one.Domain.Length > DomainLength))
            throw new BadInputException($"a subscriber's address has at most {EmailLength} characters, a domain {DomainLength}; nothing was imported");
        return WriteAsync(
            async session =>
            {
                // One import at a time: ids are then committed in their order, and "all up to the highest"
                // names the same subscriptions whenever it is asked.
                await LockSubscribersAsync(session);
                var added = 0;
                foreach (var page in wanted.Chunk(ImportPage))
                {
                    added += await session.ExecuteAsync(
                        """
                        INSERT INTO dbo.subscribers (email, domain, match_domain, match_alias)
                        SELECT n.email, n.domain, n.match_domain, n.match_alias
                        FROM OPENJSON(@subscriptions) WITH (
                            place int '$.i', email nvarchar(320) '$.e', domain nvarchar(255) '$.d', match_domain varchar(255) '$.md', match_alias varchar(64) '$.ma') n
                        WHERE NOT EXISTS (
                            SELECT 1 FROM dbo.subscribers s
                            WHERE s.email = n.email COLLATE Latin1_General_100_BIN2 AND s.domain = n.domain COLLATE Latin1_General_100_BIN2)
                        ORDER BY n.place
                        """,
                        LongText("@subscriptions", ToJson(page)));
                }
                return added;
            },
            cancellationToken,
            _options.LongTimeout);
    }

    /// <inheritdoc/>
    public async IAsyncEnumerable<Subscription> ListSubscribersAsync([EnumeratorCancellation] CancellationToken cancellationToken)
    {
        // Page by page: no connection is held while the caller works.
        var last = new Subscription("", "");
        List<Subscription> page;
        do
        {
            page = await ReadAsync(
                session => session.ListAsync(
                    """
                    SELECT TOP (@most) email, domain FROM dbo.subscribers
                    WHERE email > @email OR email = @email AND domain > @domain ORDER BY email, domain
                    """,
                    RowReaders.Subscription,
                    BigInt("@most", SubscriberPage), Text("@email", last.Email, EmailLength), Text("@domain", last.Domain ?? "", DomainLength)),
                cancellationToken);
            foreach (var subscription in page)
                yield return subscription;
            last = page.Count > 0 ? page[^1] : last;
        }
        while (page.Count == SubscriberPage);
    }

    private static async Task<List<Breach>> ReadBreachesAsync(SqlServerSession session, string sql, params SqlParameter[] parameters)
    {
        var breaches = new List<Breach>();
        await session.ListAsync(
            sql,
            row =>
            {
                RowReaders.AddBreach(breaches, row);
                return true;
            },
            parameters);
        return breaches;
    }

    private static async Task MergeMetadataAsync(SqlServerSession session, string name, ReadOnlyMemory<byte> document, bool byOperator)
    {
        // The row is held before it is read: of two that merge the second sees what the first has written.
        if (await session.ExecuteAsync("UPDATE dbo.breaches SET name = name WHERE folded_name = @folded", Folded(name)) == 0)
            throw Refusals.NoBreach(name);
        var before = await session.FirstAsync("SELECT metadata FROM dbo.breaches WHERE folded_name = @folded", row => ToMetadata(row.Text(0)), Folded(name));
        await session.ExecuteAsync(
            "UPDATE dbo.breaches SET metadata = @metadata WHERE folded_name = @folded", Folded(name), LongText("@metadata", ToText(Merge(document, before!, byOperator))));
        await RaiseCatalogueVersionAsync(session);
    }

    private static string ToJson((string Email, string Domain)[] subscriptions) => JsonSerializer.Serialize(subscriptions.Select((one, i) =>
    {
        var (domain, alias) = MatchedBy(one.Email, one.Domain);
        // No account has another domain or alias than these, and a code page must not make one of it that somebody has.
        if (!IsAccounts(domain, DomainLength) || alias is not null && !IsAccounts(alias, AliasLength))
            (domain, alias) = ("", alias is null ? null : "");
        return new Dictionary<string, object?> { ["i"] = i, ["e"] = one.Email, ["d"] = one.Domain, ["md"] = domain, ["ma"] = alias };
    }));

    private static bool IsAccounts(string part, int length) => part.Length <= length && Ascii.IsValid(part);

    private static async Task LockSubscribersAsync(SqlServerSession session)
    {
        var answer = await session.NumberAsync(
            """
            DECLARE @answer int;
            EXEC @answer = sp_getapplock @Resource = N'hibp subscribers', @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = @timeout;
            SELECT @answer
            """,
            Milliseconds("@timeout", TimeSpan.FromMinutes(2)));
        if (answer is not >= 0)
            throw new StoreUnavailableException("another import of subscribers is under way");
    }
}
