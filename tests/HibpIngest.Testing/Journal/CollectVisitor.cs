using HibpIngest.Journal.Segments;

namespace HibpIngest.Testing;

/// <summary>Collects the accounts it visits, and checks the reported domains and their counts against them.</summary>
internal struct CollectVisitor : IAccountVisitor
{
    private int _left;
    private string _domain = "";

    public CollectVisitor()
    {
    }

    public List<(string Domain, string Alias)> Rows { get; } = [];

    public List<SegmentBlock> Blocks { get; } = [];

    public void BeginBlock(in SegmentBlock block)
    {
        Assert.Equal(0, _left);
        Blocks.Add(block);
    }

    public void BeginDomain(ReadOnlySpan<byte> domain, int rows)
    {
        Assert.Equal(0, _left);
        (_domain, _left) = (Encoding.ASCII.GetString(domain), rows);
    }

    public void Account(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain)
    {
        Assert.Equal(_domain, Encoding.ASCII.GetString(domain));
        _left--;
        Rows.Add((_domain, Encoding.ASCII.GetString(alias)));
    }
}
