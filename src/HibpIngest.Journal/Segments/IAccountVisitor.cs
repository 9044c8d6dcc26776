namespace HibpIngest.Journal.Segments;

/// <summary>
/// Receives the accounts of a segment, block by block, each block sorted by domain and alias. Implemented by a struct, so that the calls
/// are inlined into the reader. Spans are valid until the call returns.
/// </summary>
public interface IAccountVisitor
{
    /// <summary>Begins a block, whose checksum has been verified.</summary>
    void BeginBlock(in SegmentBlock block);

    /// <param name="domain">The domain of the rows that follow.</param>
    /// <param name="rows">Number of rows that follow.</param>
    void BeginDomain(ReadOnlySpan<byte> domain, int rows);

    /// <summary>Receives a row of the current domain. Duplicates are passed too.</summary>
    void Account(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain);
}

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

    public void Account(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain) => into.Add(alias, domain);
}

internal struct CountVisitor(DomainCounts domains) : IAccountVisitor
{
    public long Rows { get; private set; }

    public readonly void BeginBlock(in SegmentBlock block)
    {
    }

    public readonly void BeginDomain(ReadOnlySpan<byte> domain, int rows) => domains.Add(domain, rows);

    public void Account(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain) => Rows++;
}
