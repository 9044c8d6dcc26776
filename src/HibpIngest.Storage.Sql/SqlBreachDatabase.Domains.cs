namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    private const string OfProof = "holder = @holder AND domain = @domain";
    private const string OfListed = $"{OfProof} AND checked_at = @checked_at";

    public Task PutProofAsync(DomainProof proof, CancellationToken cancellationToken) =>
        WriteAsync(session => PutAsync(session, proof), cancellationToken);

    public Task<IReadOnlyList<CheckedProof>> ListProofsAsync(CancellationToken cancellationToken) => ListAsync(
        "SELECT holder, domain, kind, checked_at, failed_at FROM dbo.domain_proofs ORDER BY domain, holder",
        row => new CheckedProof(ReadProof(row), row.Time("checked_at"), row.TimeOrNull("failed_at")), cancellationToken);

    public Task RecordCheckAsync(CheckedProof listed, bool succeeded, CancellationToken cancellationToken) => WriteAsync(
        succeeded ? $"UPDATE dbo.domain_proofs SET checked_at = @now, failed_at = NULL WHERE {OfListed}"
            : $"UPDATE dbo.domain_proofs SET failed_at = @now WHERE {OfListed} AND failed_at IS NULL",
        cancellationToken, Of(listed));

    public Task<bool> EndProofAsync(CheckedProof listed, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        await LockSubscribersAsync(session);
        if (await session.ExecuteAsync($"DELETE FROM dbo.domain_proofs WHERE {OfListed}", Of(listed)) == 0)
            return false;
        if (listed.Proof.Subscription is { } id)
            await DeleteSubscribersAsync(session, "link_id = @id", Id("@id", id));
        return true;
    }, cancellationToken);

    public Task DeleteProofAsync(string holder, string domain, CancellationToken cancellationToken) =>
        WriteAsync($"DELETE FROM dbo.domain_proofs WHERE {OfProof}", cancellationToken, Of(holder, domain));

    private static async Task PutAsync(ISqlSession session, DomainProof proof)
    {
        if (await session.ExecuteAsync(
            $"UPDATE dbo.domain_proofs SET kind = @kind, checked_at = @now, failed_at = NULL WHERE {OfProof}", Of(proof)) == 0)
        {
            await session.ExecuteAsync(
                "INSERT INTO dbo.domain_proofs (holder, domain, kind, checked_at, failed_at) VALUES (@holder, @domain, @kind, @now, NULL)",
                Of(proof));
        }
    }

    private static DomainProof ReadProof(IRow row) => new(row.Text("holder"), row.Text("domain"), ToProof(row.Text("kind")));

    private static ProofKind ToProof(string text) => Enum.Parse<ProofKind>(text, ignoreCase: true);

    private static Parameter[] Of(CheckedProof listed) => [.. Of(listed.Proof), At("@checked_at", listed.CheckedAt)];

    private static Parameter[] Of(DomainProof proof) =>
        [.. Of(proof.Holder, proof.Domain), VarChar("@kind", proof.Kind.Name(), ReasonLength)];

    private static Parameter[] Of(string holder, string domain) =>
        [VarChar("@holder", holder, HashLength), VarChar("@domain", domain, DomainLength)];
}
