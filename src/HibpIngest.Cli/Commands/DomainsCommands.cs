using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Cli.Commands;

internal sealed class DomainsListCommand : HibpCommand
{
    public DomainsListCommand()
        : base("list", "List who sees the accounts of a domain, by which proof, and when it was checked.") =>
        AddExamples(("hibp domains list", "subscribers and API keys, by domain"));

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var lines = await ReadAsync(
            services.GetRequiredService<IBreachDatabase>(), services.GetRequiredService<IApiKeys>(), cancellationToken);
        if (session.Screen.TryShowJson(() => new DomainsDocument(lines)))
            return;
        var table = TableFormat.Create("domain", "owner", "proof", "checked", "missing since").AddRows(lines, line =>
        [
            line.Domain, line.Email ?? $"key {line.Key}", line.Proof, TableFormat.Moment(line.CheckedAt),
            TableFormat.Moment(line.MissingSince),
        ]);
        session.Screen.Show(table, ifEmpty: "No domain has an owner; 'hibp domains approve DOMAIN --owner ADDRESS' names one.");
    }

    /// <summary>Joins proofs with their owners; owners without a proof were approved or imported by the operator.</summary>
    private static async Task<IReadOnlyList<DomainLine>> ReadAsync(
        IBreachDatabase database, IApiKeys apiKeys, CancellationToken cancellationToken)
    {
        var proofs = await database.ListProofsAsync(cancellationToken);
        var lines = new List<DomainLine>();
        foreach (var key in await apiKeys.ListAsync(cancellationToken))
        {
            lines.AddRange(key.Domains.Select(domain => LineOf(
                domain, null, key.Name, proofs.FirstOrDefault(one => one.Proof.Holder == key.Hash && one.Proof.Domain == domain))));
        }
        var bySubscription = new Dictionary<Subscription, CheckedProof>();
        foreach (var proof in proofs)
        {
            if (proof.Proof.Subscription is { } id && await database.FindSubscriptionAsync(id, cancellationToken) is { } known)
                bySubscription[known.Subscription] = proof;
        }
        await foreach (var subscription in database.ListSubscribersAsync(cancellationToken))
        {
            if (subscription.Domain is { } domain)
                lines.Add(LineOf(domain, subscription.Email, null, bySubscription.GetValueOrDefault(subscription)));
        }
        return [.. lines.OrderBy(line => line.Domain, StringComparer.Ordinal).ThenBy(line => line.Email, StringComparer.Ordinal)];
    }

    private static DomainLine LineOf(string domain, string? email, string? key, CheckedProof? proof) => new(
        domain, email, key, proof is null ? "operator" : proof.Proof.Mailbox ?? proof.Proof.Kind.Name(),
        proof?.CheckedAt, proof?.FailedAt);
}

internal sealed class DomainsApproveCommand : AddressCommand
{
    private readonly Argument<string> _domain = new("DOMAIN") { Description = "The domain, as in example.com." };
    private readonly Option<string> _owner = new("--owner")
    {
        Description = "The address to be notified. Other users of this machine can see it while the command runs; - reads it from standard "
            + "input.",
        HelpName = "ADDRESS",
    };
    private readonly Option<string> _key = new("--key") { Description = "The API key that gets the domain.", HelpName = "NAME" };

    public DomainsApproveCommand()
        : base("approve", "Approve an owner for a domain without a proof. The approval never lapses: make sure first that the domain is "
            + "theirs.")
    {
        Add(_domain, _owner, _key);
        AddExamples(
            ("hibp domains approve example.com --owner admin@example.com", "is notified, and may sign in on the page /domains"),
            ("hibp domains approve example.com --key acme", "the key may request /breacheddomain/example.com within 10 seconds"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        if (!AccountRules.TryParseDomain(session.Parsed.GetRequiredValue(_domain), out var domain, out _))
            throw new BadInputException("DOMAIN: expected a domain, as in example.com, found another text");
        var (owner, name) = (session.Parsed.GetValue(_owner), session.Parsed.GetValue(_key));
        if (owner is null == name is null)
            throw new BadInputException("expected the owner, as either --owner ADDRESS or --key NAME");
        var wanted = owner is null ? []
            : (await ReadAddressesAsync(session, owner, "--owner", cancellationToken)).Select(
                address => new Subscription(address, domain)).ToList();
        await using var services = await session.OpenExistingAsync(cancellationToken);
        if (name is null)
            await AddAsync(services, domain, wanted, cancellationToken);
        else
            await AddAsync(services, domain, name, cancellationToken);
        session.Screen.ShowResult(
            new DomainApprovedDocument(domain), $"{domain} is approved; 'hibp domains list' lists all owners.");
    }

    private static async Task AddAsync(
        IServiceProvider services, string domain, List<Subscription> wanted, CancellationToken cancellationToken)
    {
        var database = services.GetRequiredService<IBreachDatabase>();
        foreach (var (proof, _, _) in await database.ListProofsAsync(cancellationToken))
        {
            // A proof that is missing later would end the approval.
            if (proof.Domain == domain && proof.Subscription is { } id
                && await database.FindSubscriptionAsync(id, cancellationToken) is { } known && wanted.Contains(known.Subscription))
            {
                await database.DeleteProofAsync(proof.Holder, domain, cancellationToken);
            }
        }
        if ((await services.GetRequiredService<SubscriberOperations>().AddAsync(wanted, again: false, cancellationToken)).Suppressed > 0)
        {
            throw new NotPossibleException("the address is suppressed (unsubscribed, bounced, complained or forgotten), and was not added; "
                + $"if the person wants it: hibp subscribers add - --domain {domain} --again");
        }
    }

    private static async Task AddAsync(IServiceProvider services, string domain, string name, CancellationToken cancellationToken)
    {
        var keys = services.GetRequiredService<IApiKeys>();
        var key = await KeyNames.FindAsync(keys, name, cancellationToken) ?? throw KeyNames.Unknown(name);
        await services.GetRequiredService<IBreachDatabase>().DeleteProofAsync(key.Hash, domain, cancellationToken);
        if (!await keys.SetDomainAsync(key.Hash, domain, isProven: true, cancellationToken))
            throw KeyNames.Unknown(name);
    }
}
