using System.Text.Json.Nodes;
using System.Text.Json.Serialization;
using HibpIngest.Breaches;
using HibpIngest.Lookup;
using Microsoft.AspNetCore.OpenApi;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.OpenApi;

namespace HibpIngest.Web;

/// <summary>The API described for programs, at <c>/openapi/v3.json</c>.</summary>
internal static class OpenApiDocuments
{
    public const string Route = "/openapi/v3.json";

    private const string Document = "v3";
    private const string Json = "application/json";
    private const string Text = "text/plain";
    private const string Bytes = "application/octet-stream";

    /// <summary>What is said of each route.</summary>
    private static readonly Dictionary<string, Operation> Operations = new()
    {
        ["GET /api/v3/breachedaccount/{account}"] = new(
            "All breaches an account is in, sensitive and retired ones left out", typeof(IReadOnlyList<PublicBreach>), [400, 404])
        {
            Queries =
            [
                ("truncateResponse", JsonSchemaType.Boolean, "Names only; true unless false is said"),
                ("domain", JsonSchemaType.String, "Only breaches of the site at this domain"),
                ("includeUnverified", JsonSchemaType.Boolean, "Unverified breaches too; true unless false is said"),
            ],
        },
        ["GET /api/v3/breachedaccount/range/{prefix}"] = new(
            "The accounts whose SHA-1 begins with six hex digits, each with its breaches", typeof(IReadOnlyList<RangeDocument>), [400, 404])
        {
            Id = "breachedaccountrange",
            ErrorType = Text,
        },
        ["GET /api/v3/breacheddomain/{domain}"] = new(
            "All breached accounts of a verified domain", typeof(Dictionary<string, IReadOnlyList<string>>), [400, 404]),
        ["GET /api/v3/subscribeddomains"] = new("The domains that the key is verified for", typeof(IReadOnlyList<SubscribedDomain>), []),
        ["GET /api/v3/breaches"] = new("All breaches", typeof(IReadOnlyList<PublicBreach>), [])
        {
            Queries =
            [
                ("domain", JsonSchemaType.String, "Only those of the site at this domain"),
                ("isSpamList", JsonSchemaType.Boolean, "Only spam lists, or only others"),
            ],
        },
        ["GET /api/v3/breach/{name}"] = new("One breach by its name", typeof(PublicBreach), [404]),
        ["GET /api/v3/latestbreach"] = new("The breach that was added last", typeof(PublicBreach), [404]),
        ["GET /api/v3/dataclasses"] = new("All data classes", typeof(IReadOnlyList<string>), []),
        ["GET /api/v3/subscription/status"] = new("What the key is good for", typeof(SubscriptionStatus), [404]),
        ["GET /api/v3/pasteaccount/{account}"] = new(
            "Pastes an account is in: none are kept here", typeof(IReadOnlyList<PasteDocument>), [400, 404]),
        ["GET /enterprise/range/search/{prefix}"] = new(
            "The accounts whose SHA-1 begins with six hex digits, for Enterprise clients", typeof(IReadOnlyList<RangeDocument>),
            [400, 404]),
        ["POST /enterprise/range/subscribe"] = new("Subscribes the client to a prefix; 201 where it was not", null, [400, 413, 415])
        {
            Made = "It was not subscribed before",
            Body = typeof(PrefixDocument),
        },
        ["DELETE /enterprise/range/{prefix}"] = new("Ends the client's subscription to a prefix", null, [400]) { Id = "unsubscribe" },
        ["GET /enterprise/range/subscriptions"] = new("All prefixes that the client is subscribed to, as a bitmap", typeof(byte[]), [])
        {
            AnswerType = Bytes,
        },
        ["PUT /enterprise/range/subscriptions"] = new(
            "Replaces all prefixes that the client is subscribed to", typeof(PrefixCount), [400, 412, 413, 415])
        {
            Id = "replacesubscriptions",
            Body = typeof(byte[]),
            BodyType = Bytes,
        },
        ["POST /enterprise/range/subscriptions"] = new(
            "Changes up to 100,000 of the client's subscriptions at once", typeof(PrefixCounts), [400, 413, 415])
        {
            Id = "changesubscriptions",
            Body = typeof(PrefixLists),
        },
        ["GET /range/{prefix}"] = new(
            "The passwords whose hash begins with five hex digits: rows SUFFIX:COUNT, CRLF between them", typeof(string), [400, 404])
        {
            Queries = [("mode", JsonSchemaType.String, "ntlm for NTLM hashes; else SHA-1")],
            AnswerType = Text,
            ErrorType = Text,
        },
        ["GET /passwords/changes"] = new("The ranges of passwords that have changed since a time", typeof(PasswordChanges), [400, 404])
        {
            Queries =
            [
                ("since", JsonSchemaType.String, "The time, as 2026-11-22T00:00:00Z: what the last answer gave as next"),
                ("mode", JsonSchemaType.String, "ntlm for NTLM hashes; else SHA-1"),
            ],
            ErrorType = Text,
        },
        ["POST /ingestion/append"] = new(
            "Hands hashes in, to be added to the passwords once that is confirmed", typeof(TransactionDocument), [400, 413, 415])
        {
            Body = typeof(IReadOnlyList<AppendItem>),
            ErrorType = Text,
        },
        ["POST /ingestion/append/confirm"] = new("Confirms what was handed in: it will be added", null, [400, 404, 409, 413, 415])
        {
            Body = typeof(TransactionDocument),
            ErrorType = Text,
        },
    };

    /// <summary>What it needs of a host.</summary>
    public static IServiceCollection AddServices(IServiceCollection services, string address)
    {
        services.ConfigureHttpJsonOptions(json => json.SerializerOptions.PropertyNamingPolicy = null);
        return services.AddOpenApi(Document, options =>
        {
            options.OpenApiVersion = OpenApiSpecVersion.OpenApi3_0;
            options.AddDocumentTransformer((document, context, cancellationToken) =>
                DescribeAsync(document, context, WebRoute.AllOf(context.ApplicationServices), address, cancellationToken));
        });
    }

    /// <summary>Made once: it is the same for everybody.</summary>
    public static async Task<ReadyContent> CreateAsync(IServiceProvider services)
    {
        var provider = services.GetRequiredKeyedService<IOpenApiDocumentProvider>(Document);
        var document = await provider.GetOpenApiDocumentAsync();
        return ReadyContent.Of(System.Text.Encoding.UTF8.GetBytes(await document.SerializeAsJsonAsync(OpenApiSpecVersion.OpenApi3_0)));
    }

    private static async Task DescribeAsync(
        OpenApiDocument document, OpenApiDocumentTransformerContext context, IEnumerable<WebRoute> routes, string address,
        CancellationToken cancellationToken)
    {
        document.Info = new OpenApiInfo
        {
            Title = "Breach notification service",
            Version = "3",
            Description = "The API of haveibeenpwned.com, version 3, as far as it is served here; docs/api.md says where it differs.",
        };
        document.Servers = [new OpenApiServer { Url = address }];
        document.Paths = [];
        foreach (var route in routes)
        {
            var path = route.Template.Replace("?}", "}", StringComparison.Ordinal);
            var described = new Dictionary<HttpMethod, OpenApiOperation>();
            foreach (var verb in route.Verbs)
            {
                if (Operations.TryGetValue($"{verb} {path}", out var operation))
                    described[HttpMethod.Parse(verb)] = await DescribeAsync(document, context, route, path, operation, cancellationToken);
            }
            if (described.Count > 0)
                document.Paths[path] = new OpenApiPathItem { Operations = described };
        }
    }

    private static async Task<OpenApiOperation> DescribeAsync(
        OpenApiDocument document, OpenApiDocumentTransformerContext context, WebRoute route, string path, Operation operation,
        CancellationToken cancellationToken)
    {
        var described = new OpenApiOperation
        {
            OperationId = operation.Id ?? path.Split('/', StringSplitOptions.RemoveEmptyEntries).Last(part => !part.StartsWith('{')),
            Summary = operation.Summary,
            Parameters = [.. Parameters(route, path, operation)],
            Responses = [],
        };
        if (operation.Body is { } body)
            described.RequestBody = new OpenApiRequestBody
            {
                Required = true,
                Content = Content(operation.BodyType, await SchemaAsync(document, context, body, cancellationToken)),
            };
        described.Responses["200"] = operation.Answer is null ? new OpenApiResponse { Description = "Done" } : Response(
            "The answer", operation.AnswerType, await SchemaAsync(document, context, operation.Answer, cancellationToken));
        if (operation.Made is { } made)
            described.Responses["201"] = new OpenApiResponse { Description = made };
        foreach (var status in Statuses(route, operation))
        {
            var isText = operation.ErrorType == Text
                && (status is 400 or 404 or 409 or 413 or 415 || status == (route.Access == RouteAccess.Append ? 503 : 403));
            described.Responses[status.ToString(System.Globalization.CultureInfo.InvariantCulture)] = isText
                ? Response(Reason(status), Text, new OpenApiSchema { Type = JsonSchemaType.String })
                : Response(Reason(status), Json, await SchemaAsync(document, context, typeof(ErrorDocument), cancellationToken));
        }
        return described;
    }

    /// <summary>Models stand among the document's components, once each.</summary>
    private static async Task<IOpenApiSchema> SchemaAsync(
        OpenApiDocument document, OpenApiDocumentTransformerContext context, Type type, CancellationToken cancellationToken)
    {
        if (type == typeof(string))
            return new OpenApiSchema { Type = JsonSchemaType.String };
        if (type == typeof(byte[]))
            return new OpenApiSchema { Type = JsonSchemaType.String, Format = "binary" };
        if (type.IsGenericType)
        {
            var item = await SchemaAsync(document, context, type.GetGenericArguments()[^1], cancellationToken);
            return type.GetGenericTypeDefinition() == typeof(IReadOnlyList<>)
                ? new OpenApiSchema { Type = JsonSchemaType.Array, Items = item }
                : new OpenApiSchema { Type = JsonSchemaType.Object, AdditionalProperties = item };
        }
        var schema = await context.GetOrCreateSchemaAsync(type, null, cancellationToken);
        document.AddComponent(type.Name, schema);
        return new OpenApiSchemaReference(type.Name, document);
    }

    private static IEnumerable<IOpenApiParameter> Parameters(WebRoute route, string path, Operation operation)
    {
        var open = path.IndexOf('{', StringComparison.Ordinal);
        if (open >= 0)
            yield return Parameter(path[(open + 1)..^1], ParameterLocation.Path, JsonSchemaType.String, null, required: true);
        foreach (var (name, type, description) in operation.Queries)
            yield return Parameter(name, ParameterLocation.Query, type, description, required: false);
        if (route.Access is RouteAccess.Key or RouteAccess.KeyWithText)
            yield return Parameter(CallerCheck.KeyHeader, ParameterLocation.Header, JsonSchemaType.String, "32 hex digits", required: true);
        if (route.Access == RouteAccess.Append)
            yield return Parameter(
                CallerCheck.SubscriptionKeyHeader, ParameterLocation.Header, JsonSchemaType.String,
                $"32 hex digits; {CallerCheck.KeyHeader} is taken as well", required: true);
        else if (route.Access is RouteAccess.Enterprise or RouteAccess.Client)
            yield return Parameter(
                CallerCheck.EnterpriseKeyHeader, ParameterLocation.Header, JsonSchemaType.String, "32 hex digits", required: true);
        else if (route.Access == RouteAccess.Passwords)
            yield return Parameter(
                "Add-Padding", ParameterLocation.Header, JsonSchemaType.Boolean, "Rows that say nothing behind the others",
                required: false);
        else
            yield return Parameter(
                "user-agent", ParameterLocation.Header, JsonSchemaType.String, "What asks; any text", required: true);
    }

    private static OpenApiParameter Parameter(string name, ParameterLocation at, JsonSchemaType type, string? description, bool required) =>
        new() { Name = name, In = at, Required = required, Description = description, Schema = new OpenApiSchema { Type = type } };

    private static IEnumerable<int> Statuses(WebRoute route, Operation operation)
    {
        var statuses = new SortedSet<int>(operation.Refusals) { 503 };
        if (route.Access == RouteAccess.Passwords)
            return statuses;
        if (route.Access is not (RouteAccess.Enterprise or RouteAccess.Client))
            statuses.Add(403);
        if (route.Access != RouteAccess.Catalogue)
            statuses.UnionWith([401, 403, 429]);
        return statuses;
    }

    private static OpenApiResponse Response(string description, string type, IOpenApiSchema schema) => new()
    {
        Description = description,
        Content = Content(type, schema),
    };

    private static Dictionary<string, OpenApiMediaType> Content(string type, IOpenApiSchema schema) =>
        new() { [type] = new OpenApiMediaType { Schema = schema } };

    private static string Reason(int status) => status switch
    {
        400 => "The request can't be meant",
        401 => "No key, or a wrong one",
        403 => "No user agent, or a key that is not good for this",
        404 => "None",
        409 => "Somebody else is at it; try again",
        413 => "More than is taken at once",
        412 => "There is another version by now",
        415 => "The body is compressed",
        429 => "Too many requests; Retry-After says when to come again",
        _ => "A store doesn't answer just now",
    };

    private sealed record Operation(string Summary, Type? Answer, int[] Refusals)
    {
        /// <summary>Where another one's path ends alike.</summary>
        public string? Id { get; init; }

        /// <summary>What 201 says; null: it is not answered.</summary>
        public string? Made { get; init; }

        public Type? Body { get; init; }

        public string BodyType { get; init; } = Json;

        public (string Name, JsonSchemaType Type, string Description)[] Queries { get; init; } = [];

        public string AnswerType { get; init; } = Json;

        public string ErrorType { get; init; } = Json;
    }

    private sealed record ErrorDocument(
        [property: JsonPropertyName("statusCode")] int StatusCode, [property: JsonPropertyName("message")] string Message);

    private sealed record RangeDocument(
        [property: JsonPropertyName("hashSuffix")] string HashSuffix,
        [property: JsonPropertyName("websites")] IReadOnlyList<string> Websites);

    private sealed record SubscribedDomain(
        string DomainName, int? PwnCount, int? PwnCountExcludingSpamLists, int? PwnCountExcludingSpamListsAtLastSubscriptionRenewal,
        DateTimeOffset? NextSubscriptionRenewal);

    private sealed record SubscriptionStatus(
        string SubscriptionName, string Description, DateTimeOffset SubscribedUntil, int Rpm, int DomainSearchMaxBreachedAccounts,
        int MaxBreachedDomains, bool IncludesStealerLogs, bool IncludesBulkDomainAdd, bool IncludesAutoSubdomainVerification,
        bool IncludesCustomerDomains, bool IncludesKAnon);

    private sealed record PasswordChanges(
        [property: JsonPropertyName("release")] string Release, [property: JsonPropertyName("mode")] string Mode,
        [property: JsonPropertyName("next")] DateTimeOffset Next, [property: JsonPropertyName("everything")] bool Everything,
        [property: JsonPropertyName("prefixes")] IReadOnlyList<string> Prefixes);

    private sealed record AppendItem(
        [property: JsonPropertyName("sha1")] string Sha1, [property: JsonPropertyName("ntlm")] string Ntlm,
        [property: JsonPropertyName("num")] int Num);

    private sealed record TransactionDocument([property: JsonPropertyName("transactionId")] Guid TransactionId);

    private sealed record PrefixDocument([property: JsonPropertyName("hashPrefix")] string HashPrefix);

    private sealed record PrefixLists(
        [property: JsonPropertyName("subscribe")] IReadOnlyList<string>? Subscribe,
        [property: JsonPropertyName("unsubscribe")] IReadOnlyList<string>? Unsubscribe);

    private sealed record PrefixCounts(
        [property: JsonPropertyName("subscribed")] int Subscribed, [property: JsonPropertyName("unsubscribed")] int Unsubscribed,
        [property: JsonPropertyName("total")] int Total);

    private sealed record PrefixCount([property: JsonPropertyName("total")] int Total);

    private sealed record PasteDocument(string Id, string Source, string? Title, DateTimeOffset? Date, int EmailCount);
}
