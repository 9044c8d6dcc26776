namespace HibpIngest.Integration.Tests.Cli;

public sealed class DomainsCommandTests : CommandTestBase
{
    [Fact]
    public async Task Owner_is_approved_and_listed()
    {
        await SetUpAsync();
        (await RunAsync("subscribers", "add", "ann@example.com")).Succeeded();
        var key = ApiKey.HashOf((await JsonAsync("keys", "create", "acme", "--scope", "search")).Text("key")!);
        (await RunAsync("domains", "list")).Printed("'hibp domains approve");
        (await RunAsync("domains", "approve", "example.com")).FailedWith("either --owner ADDRESS or --key NAME");
        (await RunAsync("domains", "approve", "example.com", "--key", "other")).FailedWith("there is no key 'other'");
        (await RunAsync("domains", "approve", "no domain", "--key", "acme")).FailedWith("DOMAIN: expected a domain");

        for (var i = 0; i < 2; i++)
        {
            // Owners who have a proof lose it, so that it can't lapse.
            if (i == 1)
                await ProveAsync(key);
            (await RunWithInputAsync("Admin@Example.com\n", "domains", "approve", "Example.com", "--owner", "-")).Succeeded();
            (await RunAsync("domains", "approve", "example.com", "--key", "ACME")).Succeeded();
        }

        Assert.Equal(
            [("example.com", null, "acme", "operator"), ("example.com", "admin@example.com", null, "operator")],
            (await JsonAsync("domains", "list")).List("domains").Select(line => (
                line.Text("domain"), line.Text("email"), line.Text("key"), line.Text("proof"))));
        (await RunAsync("domains", "list")).Printed("key acme");
    }

    private async Task ProveAsync(string key)
    {
        await using (var database = SqliteBreachDatabase.Open(Variables["HIBP_DATABASE"], TimeProvider.System))
        {
            var owner = await database.RequestSignInAsync(Guid.NewGuid(), "admin@example.com", "example.com", [], None);
            foreach (var holder in (string[])[key, DomainProof.HolderOf(owner.Due!.Subscription)])
                await database.PutProofAsync(new DomainProof(holder, "example.com", ProofKind.Security), None);
        }
        (await RunAsync("domains", "list")).Printed("security@example.com");
    }
}
