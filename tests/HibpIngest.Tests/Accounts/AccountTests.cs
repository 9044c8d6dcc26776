namespace HibpIngest.Tests.Accounts;

public sealed class AccountTests
{
    [Fact]
    public void ToString_does_not_show_the_address()
    {
        var account = new Account("somebody", "example.com");
        foreach (var text in new[] { account.ToString(), $"{account}", $"{new OptOut(account, OptOutLevel.All)}" })
        {
            Assert.DoesNotContain("somebody", text, StringComparison.OrdinalIgnoreCase);
            Assert.DoesNotContain("example", text, StringComparison.OrdinalIgnoreCase);
        }
        Assert.Equal("somebody@example.com", account.Address);
    }
}
