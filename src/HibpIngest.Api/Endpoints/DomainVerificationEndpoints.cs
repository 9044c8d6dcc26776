using HibpIngest.People;

namespace HibpIngest.Api.Endpoints;

/// <summary>The web app may not change keys: it checks a record to answer at once, and the pipeline checks it again.</summary>
internal sealed class DomainVerificationEndpoints(IDomainRecords records, CommandSender commands, TimeProvider time) : IApiEndpoints
{
    private const int MaxBodyBytes = 4_096;

    // Have I Been Pwned's words (haveibeenpwned.com/API/v3#DomainVerification).
    private static readonly MessageError NoDomain = new(400, "An invalid domain was provided with the request");
    private static readonly MessageError NoJson = new(400, "Invalid JSON");
    private static readonly MessageError IsProven = new(400, "Domain has already been verified.");
    private static readonly MessageError NoRecord = new(404, "No hibp-verify TXT records were found on the domain.");
    private static readonly MessageError NoAlias = new(400, "No emailAlias field was passed in the request body.");
    private static readonly MessageError OtherAlias =
        new(400, $"The emailAlias is expected to be one of: {string.Join(", ", ProofKinds.Mailboxes)}");

    private static readonly MessageError NoOwner = new(403, "This domain has no owner: it is a public suffix, or a mail provider's.");
    private static readonly MessageError NeedsKey = new(403, "This server requires no API key, so no domain can be added to one.");

    public void Map(ApiRoutes routes)
    {
        const string Path = "/api/v3/domainverification";
        routes.Map(HttpMethods.Post, $"{Path}/generatednstoken", RouteAccess.Key, GenerateAsync).Requires(KeyScopes.Verify)
            .Describe("The TXT record that proves a domain", typeof(DnsTokenDocument), 400)
            .WithMetadata(new RequestBodyMetadata(typeof(DomainDocument)));
        routes.Map(HttpMethods.Post, $"{Path}/verifydnstoken", RouteAccess.Key, VerifyAsync).Requires(KeyScopes.Verify)
            .Describe("Adds a domain that is proven by a TXT record to the key, within a minute", null, 400, 404)
            .WithMetadata(new RequestBodyMetadata(typeof(DomainDocument)));
        routes.Map(HttpMethods.Post, $"{Path}/sendemail", RouteAccess.Key, SendAsync).Requires(KeyScopes.Verify)
            .Describe("Mails the link by which the domain is added to the key", null, 400)
            .WithMetadata(new RequestBodyMetadata(typeof(DomainDocument)));
    }

    private async Task<IResult> GenerateAsync(HttpContext context)
    {
        var (refusal, key, domain, _) = await ReadAsync(context);
        return refusal ?? JsonResponse.Of(
            new DnsTokenDocument(commands.Links.RecordOf(key!.Hash, domain)), ApiJson.Documents.DnsTokenDocument);
    }

    private async Task<IResult> VerifyAsync(HttpContext context, CancellationToken cancellationToken)
    {
        var (refusal, key, domain, _) = await ReadAsync(context);
        if (refusal is not null)
            return refusal;
        var found = (await records.ListTextAsync(domain, cancellationToken))
            .Where(text => text.StartsWith(LinkTokens.RecordPrefix, StringComparison.Ordinal)).ToList();
        if (found.Count == 0)
            return NoRecord;
        if (!found.Exists(record => commands.Links.Proves(record, key!.Hash, domain)))
        {
            return new MessageError(
                404, $"Expected a TXT record of {commands.Links.RecordOf(key!.Hash, domain)} but instead found {found[0]}");
        }
        await commands.SendAsync(
            context, new PersonCommand(CommandKind.VerifyDomain) { Key = key!.Hash, Domain = domain }, cancellationToken);
        return Results.Ok();
    }

    private async Task<IResult> SendAsync(HttpContext context, CancellationToken cancellationToken)
    {
        var (refusal, key, domain, alias) = await ReadAsync(context);
        if (refusal is not null)
            return refusal;
        if (string.IsNullOrEmpty(alias))
            return NoAlias;
        if (ProofKinds.Parse(alias) is not { } proof || proof.Mailbox(domain) is null)
            return OtherAlias;
        await commands.SendAsync(
            context, new PersonCommand(CommandKind.RequestDomain) { Key = key!.Hash, Domain = domain, Proof = proof }, cancellationToken);
        return Results.Ok();
    }

    private async Task<(IResult? Refusal, ApiKey? Key, string Domain, string? Alias)> ReadAsync(HttpContext context)
    {
        if (Caller.Of(context).Key is not { } key)
            return (NeedsKey, null, "", null);
        using var body = await RequestBody.ReadAsync(context, MaxBodyBytes, time);
        DomainDocument? wanted;
        try
        {
            wanted = body is null ? null : JsonSerializer.Deserialize(body.Bytes, ApiJson.Documents.DomainDocument);
        }
        catch (JsonException)
        {
            return (NoJson, key, "", null);
        }
        if (!AccountRules.TryParseDomain(wanted?.DomainName ?? "", out var domain, out _))
            return (NoDomain, key, "", null);
        if (key.Domains.Contains(domain, StringComparer.Ordinal))
            return (IsProven, key, domain, null);
        return (ClaimableDomains.CanHaveOwner(domain) ? null : NoOwner, key, domain, wanted!.EmailAlias);
    }

    /// <summary>An error in the form of these endpoints, which is not that of the others: <c>{"message":"..."}</c>.</summary>
    private sealed record MessageError(int Status, string Message) : IResult
    {
        public Task ExecuteAsync(HttpContext httpContext)
        {
            httpContext.Response.StatusCode = Status;
            return JsonResponse.Of(new MessageDocument(Message), ApiJson.Documents.MessageDocument).ExecuteAsync(httpContext);
        }
    }
}
