using HibpIngest.Storage.Sql.Sqlite;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests that an operator approves and lists the owners of domains.</summary>
public sealed class DomainsCommandTests : CommandTestBase
{
    [Fact]
    public async Task Owner_is_approved_and_listed()
    {
        await SetUpAsync();
        await OutputAsync("subscribers", "add", "ann@example.com");
        var created = await RunAsync("keys", "create", "acme", "--scope", "search", "--json");
        var key = ApiKey.HashOf(created.Succeeded().Json.GetProperty("key").GetString()!);
        Assert.Contains("'hibp domains approve", await OutputAsync("domains", "list"), StringComparison.Ordinal);
        Assert.Contains(
            "either --owner ADDRESS or --key NAME", (await RunAsync("domains", "approve", "example.com")).FailedWithOneLine(),
            StringComparison.Ordinal);
        Assert.Contains(
            "there is no key 'other'", (await RunAsync("domains", "approve", "example.com", "--key", "other")).FailedWithOneLine(),
            StringComparison.Ordinal);
        Assert.Contains(
            "DOMAIN: expected a domain", (await RunAsync("domains", "approve", "no domain", "--key", "acme")).FailedWithOneLine(),
            StringComparison.Ordinal);

        for (var i = 0; i < 2; i++)
        {
            // Owners who have a proof lose it, so that it can't lapse.
            if (i == 1)
                await ProveAsync(key);
            (await HibpInProcess.RunWithInputAsync(
                Folder.Path, Variables, "Admin@Example.com\n", "domains", "approve", "Example.com", "--owner", "-")).Succeeded();
            await OutputAsync("domains", "approve", "example.com", "--key", "ACME");
        }

        var domains = (await RunAsync("domains", "list", "--json")).Succeeded().Json.GetProperty("domains").EnumerateArray().ToList();
        Assert.Equal(
            [("example.com", null, "acme", "operator"), ("example.com", "admin@example.com", null, "operator")],
            domains.Select(line => (
                line.GetProperty("domain").GetString(), line.GetProperty("email").GetString(), line.GetProperty("key").GetString(),
                line.GetProperty("proof").GetString())));
        Assert.Contains("key acme", await OutputAsync("domains", "list"), StringComparison.Ordinal);
    }

    private async Task ProveAsync(string key)
    {
        await using (var database = SqliteBreachDatabase.Open(Variables["HIBP_DATABASE"], TimeProvider.System))
        {
            var owner = await database.RequestSignInAsync(Guid.NewGuid(), "admin@example.com", "example.com", [], CancellationToken.None);
            foreach (var holder in (string[])[key, DomainProof.HolderOf(owner.Due!.Subscription)])
                await database.PutProofAsync(new DomainProof(holder, "example.com", ProofKind.Security), CancellationToken.None);
        }
        Assert.Contains("security@example.com", await OutputAsync("domains", "list"), StringComparison.Ordinal);
    }

    private async Task<string> OutputAsync(params string[] arguments) => (await RunAsync(arguments)).Succeeded().Output;
}
