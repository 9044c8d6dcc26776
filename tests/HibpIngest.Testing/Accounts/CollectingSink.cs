namespace HibpIngest.Testing;

internal sealed class CollectingSink : IAccountSink
{
    public List<string> Accounts { get; } = [];

    public void Add(ReadOnlySpan<byte> account, int aliasLength) =>
        Accounts.Add(Encoding.ASCII.GetString(account[..aliasLength]) + "@" + Encoding.ASCII.GetString(account[aliasLength..]));

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
