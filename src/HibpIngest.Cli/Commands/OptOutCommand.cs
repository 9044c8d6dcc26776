using HibpIngest.Pipeline.People;

namespace HibpIngest.Cli.Commands;

internal sealed class OptOutCommand : AddressCommand
{
    private readonly Option<string> _from = new("--from")
    {
        Description = "public: hidden from lookups, ranges, searches and callbacks, but not from the verified owner of the address or of "
            + "its domain; all: hidden from everyone, and never mailed (requires HIBP_SUPPRESSION_KEY); none: shown again.",
        HelpName = "public|all|none",
        Required = true,
    };

    public OptOutCommand()
        : base("optout", "Hide addresses that are in breaches, or show them again. Make sure that the request comes from the owner.",
            hasDomains: false)
    {
        _from.AcceptOnlyFromAmong("public", "all", "none");
        Add(_from);
        AddExamples(
            ("hibp optout - --from public", "an address from standard input, which no process list shows"),
            ("hibp optout me@example.com --from all", "nobody sees this address, and it gets no mail"),
            ("hibp optout me@example.com --from none", "it is shown again; removed subscriptions stay removed"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var addresses = await ReadAddressesAsync(session, cancellationToken);
        var level = Enum.Parse<OptOutLevel>(session.Parsed.GetRequiredValue(_from), ignoreCase: true);
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var operations = services.GetRequiredService<OptOutOperations>();
        foreach (var address in addresses)
        {
            _ = AccountRules.TryParse(address, out var account, out _);
            await operations.SetAsync(new OptOut(account, level), cancellationToken);
        }
        var subject = addresses.Count == 1 ? "The address is" : $"{TableFormat.Number(addresses.Count)} addresses are";
        session.Screen.ShowResult(
            new OptOutDocument(addresses.Count, OptOut.ValueOf(level)),
            $"{subject} " + level switch
            {
                OptOutLevel.None => "shown again.",
                OptOutLevel.Public => "hidden from the public.",
                _ => "hidden from all.",
            });
    }
}
