namespace HibpIngest.AccountLog;

/// <summary>
/// Takes the accounts of a segment, block by block, each block sorted by domain and alias. A struct, so that the calls are
/// compiled into the reader; spans hold until the call returns.
/// </summary>
public interface IAccountVisitor
{
    /// <summary>A block begins, whose checksum is right.</summary>
    void BeginBlock(in SegmentBlock block);

    /// <summary>A domain of the block begins, of which so many rows follow.</summary>
    void BeginDomain(ReadOnlySpan<byte> domain, int rows);

    /// <summary>A row of the domain; one that repeats the row before it is a row like others.</summary>
    void Account(ReadOnlySpan<byte> domain, ReadOnlySpan<byte> alias);
}
