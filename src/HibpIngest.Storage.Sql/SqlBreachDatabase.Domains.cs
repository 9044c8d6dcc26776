using static HibpIngest.Storage.Sql.Parameter;

namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    private const string OfProof = "api_key = @key AND domain = @domain";

    public Task PutProofAsync(DomainProof proof, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        if (await session.ExecuteAsync(
            $"UPDATE dbo.domain_proofs SET checked_at = @now, failed_at = NULL WHERE {OfProof}", Of(proof)) == 0)
        {
            await session.ExecuteAsync(
                "INSERT INTO dbo.domain_proofs (api_key, domain, checked_at, failed_at) VALUES (@key, @domain, @now, NULL)", Of(proof));
        }
    }, cancellationToken);

    public Task<IReadOnlyList<DomainProof>> ListDueProofsAsync(
        TimeSpan checkAfter, TimeSpan retryAfter, CancellationToken cancellationToken) => ListAsync(
        """
        SELECT api_key, domain FROM dbo.domain_proofs
        WHERE failed_at IS NULL AND checked_at <= @checked OR failed_at <= @failed ORDER BY api_key, domain
        """,
        row => new DomainProof(row.Text("api_key"), row.Text("domain")), cancellationToken,
        FromNow("@checked", -checkAfter), FromNow("@failed", -retryAfter));

    public Task<bool> RecordFailedCheckAsync(DomainProof proof, CancellationToken cancellationToken) => WriteAsync(
        async session => await session.ExecuteAsync(
            $"UPDATE dbo.domain_proofs SET failed_at = @now WHERE {OfProof} AND failed_at IS NULL", Of(proof)) == 0,
        cancellationToken);

    public Task DeleteProofAsync(DomainProof proof, CancellationToken cancellationToken) =>
        WriteAsync($"DELETE FROM dbo.domain_proofs WHERE {OfProof}", cancellationToken, Of(proof));

    private static Parameter[] Of(DomainProof proof) =>
        [VarChar("@key", proof.Key, HashLength), VarChar("@domain", proof.Domain, DomainLength)];
}
