namespace HibpIngest.Journal.Segments;

/// <summary>Adds a block's accounts to a batch, which must have room for them.</summary>
internal readonly struct BatchVisitor(AccountBatch into) : IAccountVisitor
{
    public void BeginBlock(in SegmentBlock block)
    {
        into.Clear();
        into.FirstPosition = block.First;
    }

    public void BeginDomain(ReadOnlySpan<byte> domain, int rows)
    {
    }

    public void Account(ReadOnlySpan<byte> domain, ReadOnlySpan<byte> alias) => into.Add(alias, domain);
}

internal struct CountVisitor(DomainCounts domains) : IAccountVisitor
{
    public long Rows { get; private set; }

    public readonly void BeginBlock(in SegmentBlock block)
    {
    }

    public readonly void BeginDomain(ReadOnlySpan<byte> domain, int rows) => domains.Add(domain, rows);

    public void Account(ReadOnlySpan<byte> domain, ReadOnlySpan<byte> alias) => Rows++;
}
