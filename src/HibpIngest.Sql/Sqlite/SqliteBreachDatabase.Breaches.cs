using System.Text;
using HibpIngest.Breaches;
using static HibpIngest.Sql.Parameter;
using static HibpIngest.Sql.StoredText;

namespace HibpIngest.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
    /// <inheritdoc/>
    public override Task<int> ImportSubscribersAsync(
        IReadOnlyCollection<Subscription> subscriptions, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                var added = 0;
                foreach (var (email, domain) in subscriptions.Select(Normalise))
                {
                    cancellationToken.ThrowIfCancellationRequested();
                    var (matchDomain, matchAlias) = MatchedBy(email, domain);
                    added += await session.ExecuteAsync(
                        """
                        INSERT INTO dbo.subscribers (email, domain, match_domain, match_alias)
                        VALUES (@email, @domain, @match_domain, @match_alias)
                        ON CONFLICT (email, domain) DO NOTHING
                        """,
                        LongText("@email", email), LongText("@domain", domain),
                        LongBytes("@match_domain", Encoding.UTF8.GetBytes(matchDomain)),
                        LongBytes("@match_alias", matchAlias is null ? null : Encoding.UTF8.GetBytes(matchAlias)));
                }
                return added;
            },
            cancellationToken);
}
