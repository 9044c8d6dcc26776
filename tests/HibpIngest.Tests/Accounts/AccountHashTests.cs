namespace HibpIngest.Tests.Accounts;

public sealed class AccountHashTests
{
    [Fact]
    public void Hashes_match_the_documented_vectors()
    {
        // | `account` | `first byte of its hash` | `the rest` |
        var vectors = Patterns.Find(DocumentFiles.Read("docs/tables.md"), @"^\| `[^`]+@[^`]+` \| `[0-9A-F]{2}` \| `[0-9A-F]{38}` \|")
            .Select(row => row.Split('`')).ToList();
        Assert.Equal(4, vectors.Count);
        Assert.All(vectors, vector => Assert.Equal(vector[3] + vector[5], Hash(vector[1])));
    }

    [Fact]
    public void Write_computes_the_SHA1_of_the_address()
    {
        const string Characters = "abcdefghijklmnopqrstuvwxyz0123456789.+-_";
        var random = new Random(20251122);
        for (var i = 0; i < 1_000; i++)
        {
            var account = $"{Text(random.Next(1, 65))}@{Text(random.Next(4, 256))}";
            Assert.Equal(Convert.ToHexString(SHA1.HashData(Encoding.ASCII.GetBytes(account))), Hash(account));
        }

        string Text(int length) => new(random.GetItems<char>(Characters, length));
    }

    [Fact]
    public void Write_allocates_nothing()
    {
        var row = new byte[AccountHash.RowDigits];
        AccountHash.Write("anna"u8, "example.com"u8, row);
        Assert.Equal(0, Allocations.Of(() =>
        {
            for (var i = 0; i < 100; i++)
                AccountHash.Write("anna"u8, "example.com"u8, row);
        }));
    }

    private static string Hash(string account)
    {
        var (alias, domain) = (account.Split('@')[0], account.Split('@')[1]);
        var row = new byte[AccountHash.RowDigits];
        var partition = AccountHash.Write(Encoding.ASCII.GetBytes(alias), Encoding.ASCII.GetBytes(domain), row);
        return $"{partition:X2}{Encoding.ASCII.GetString(row)}";
    }
}
