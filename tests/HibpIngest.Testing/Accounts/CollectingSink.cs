using System.Text;
using HibpIngest.Pipeline.Ingest;

namespace HibpIngest.Testing;

internal sealed class CollectingSink : IAccountSink
{
    public List<string> Accounts { get; } = [];

    public void Add(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain) =>
        Accounts.Add(Encoding.ASCII.GetString(alias) + "@" + Encoding.ASCII.GetString(domain));

    public static (List<string> Accounts, long[] Broken) Scan(params IEnumerable<byte[]> chunks)
    {
        var sink = new CollectingSink();
        var counts = new RejectionCounts();
        var scanner = new AccountScanner(sink, counts);
        foreach (var chunk in chunks)
            scanner.Scan(chunk);
        scanner.EndOfText();
        return (sink.Accounts, counts.ByRule);
    }
}
