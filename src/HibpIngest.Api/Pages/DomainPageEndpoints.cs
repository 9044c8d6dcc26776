using HibpIngest.Api.Endpoints;
using HibpIngest.People;

namespace HibpIngest.Api.Pages;

/// <summary>The pipeline checks every proof itself; these pages look a TXT record up only to answer at once.</summary>
internal sealed class DomainPageEndpoints(
    PageRenderer pages, CommandSender commands, DomainSessions sessions, IDomainRecords records, DomainAccountsReader accounts,
    TimeProvider time) : IApiEndpoints
{
    private const string Accounts = "/domains/accounts";

    public void Map(ApiRoutes routes)
    {
        routes.Get("/domains", RouteAccess.Page, (HttpContext context) => pages.WriteAsync<DomainsPage>(context, [])).AsPage("domains");
        MapForm("/domains", "domains form", RequestAsync);
        MapForm("/domains/signin", "domains signin form", SignInAsync);
        routes.Get("/domains/open", RouteAccess.Page, ConfirmSignInAsync).AsPage("domains open");
        MapForm("/domains/open", "domains open form", OpenAsync);
        routes.Get(Accounts, RouteAccess.Page, AccountsAsync).AsPage("domains accounts");
        routes.Get($"{Accounts}.csv", RouteAccess.Page, CsvAsync).AsPage("domains accounts csv");
        routes.Map(HttpMethods.Post, "/domains/close", RouteAccess.Form, Close).AsPage("domains close form");

        void MapForm(string path, string name, Delegate handler) =>
            routes.Map(HttpMethods.Post, path, RouteAccess.Form, handler).AsPage(name).RequireRateLimiting(NetworkLimits.Subscribe);
    }

    private async Task RequestAsync(HttpContext context, CancellationToken cancellationToken)
    {
        var form = await PageForm.ReadAsync(context, time);
        if (PageForm.DomainOf(form.GetValueOrDefault("domain")) is not { } domain)
        {
            await RefuseAsync(context, "NoDomain");
            return;
        }
        if (!ClaimableDomains.CanHaveOwner(domain))
        {
            await RefuseAsync(context, "NoOwner");
            return;
        }
        if (ProofKinds.Parse(form.GetValueOrDefault("proof")) is not { } proof)
        {
            await RefuseAsync(context, "NoProof");
            return;
        }
        var command = new PersonCommand(CommandKind.RequestDomain) { Domain = domain, Proof = proof };
        if (proof.Mailbox(domain) is null)
        {
            if (PageForm.AddressOf(form.GetValueOrDefault("email")) is not { } email)
            {
                await RefuseAsync(context, "NoEmail");
                return;
            }
            var record = commands.Links.RecordOf(email, domain);
            // The API connects to no web server that a visitor has named: the pipeline checks the file, and mails a link if it is there.
            var isPublished = proof == ProofKind.Dns
                ? (await records.ListTextAsync(domain, cancellationToken)).Any(line => commands.Links.Proves(line, email, domain))
                : form.ContainsKey("published");
            if (!isPublished)
            {
                await pages.WriteAsync<DomainProofPage>(context, new()
                {
                    [nameof(DomainProofPage.Domain)] = domain,
                    [nameof(DomainProofPage.Email)] = email,
                    [nameof(DomainProofPage.Proof)] = proof,
                    [nameof(DomainProofPage.Record)] = record,
                    [nameof(DomainProofPage.IsMissing)] = form.ContainsKey("published"),
                });
                return;
            }
            command = command with { Email = email };
        }
        await commands.SendAsync(context, command, cancellationToken);
        await WriteAsync(context, new Notice(proof == ProofKind.File ? "DomainFile" : "DomainSent"));
    }

    private async Task SignInAsync(HttpContext context, CancellationToken cancellationToken)
    {
        var form = await PageForm.ReadAsync(context, time);
        if (PageForm.DomainOf(form.GetValueOrDefault("domain")) is not { } domain
            || PageForm.AddressOf(form.GetValueOrDefault("email")) is not { } email)
        {
            await RefuseAsync(context, "NoSignIn");
            return;
        }
        await commands.SendAsync(
            context, new PersonCommand(CommandKind.SignIn) { Email = email, Domain = domain }, cancellationToken);
        await WriteAsync(context, new Notice("SignInSent"));
    }

    /// <summary>Asks for a click, since mail scanners follow links, and a link works once.</summary>
    private Task ConfirmSignInAsync(HttpContext context) => WriteAsync(
        context, SecretOf(context) is { } secret ? new Notice("SignIn", $"/domains/open?{PersonEndpoints.TokenName}={secret}")
            : Notice.BadSignIn);

    private async Task OpenAsync(HttpContext context, CancellationToken cancellationToken)
    {
        if (SecretOf(context) is { } secret && await sessions.TryBeginAsync(context, secret, cancellationToken))
            Redirect(context, Accounts);
        else
            await WriteAsync(context, Notice.BadSignIn);
    }

    private async Task AccountsAsync(HttpContext context, CancellationToken cancellationToken)
    {
        if (sessions.DomainOf(context) is not { } domain)
        {
            await WriteAsync(context, Notice.BadSignIn);
            return;
        }
        await pages.WriteAsync<DomainAccountsPage>(context, new()
        {
            [nameof(DomainAccountsPage.List)] = await accounts.ReadAsync(domain, cancellationToken),
            [nameof(DomainAccountsPage.Domain)] = domain,
        });
    }

    /// <summary>Streams the accounts as CSV; if a store fails after the first byte, the connection is aborted.</summary>
    private async Task CsvAsync(HttpContext context, CancellationToken cancellationToken)
    {
        if (sessions.DomainOf(context) is not { } domain || await accounts.IsTooLargeAsync(domain, cancellationToken))
        {
            await AccountsAsync(context, cancellationToken); // says why
            return;
        }
        var response = context.Response;
        PageHeaders.Add(response.Headers);
        response.ContentType = "text/csv; charset=utf-8";
        response.Headers.ContentDisposition = $"attachment; filename=\"{domain}-accounts.csv\"";
        if (!HttpMethods.IsHead(context.Request.Method))
            await accounts.WriteCsvAsync(domain, response.BodyWriter, cancellationToken);
    }

    private static Task Close(HttpContext context)
    {
        DomainSessions.End(context);
        Redirect(context, "/domains");
        return Task.CompletedTask;
    }

    // With GET (RFC 9110, 15.4.4).
    private static void Redirect(HttpContext context, string path)
    {
        PageHeaders.Add(context.Response.Headers);
        (context.Response.StatusCode, context.Response.Headers.Location) = (StatusCodes.Status303SeeOther, path);
    }

    private static string? SecretOf(HttpContext context) =>
        context.Request.Query[PersonEndpoints.TokenName] is [{ Length: SignIn.SecretLength } secret]
        && secret.All(char.IsAsciiHexDigitLower) ? secret : null;

    private Task RefuseAsync(HttpContext context, string reason) => pages.WriteAsync<DomainsPage>(
        context, new() { [nameof(DomainsPage.Refusal)] = reason }, StatusCodes.Status400BadRequest);

    private Task WriteAsync(HttpContext context, Notice notice) => NoticePage.WriteAsync(context, pages, notice);
}
