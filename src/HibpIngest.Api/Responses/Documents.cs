using System.Text.Encodings.Web;
using System.Text.Json.Serialization;

namespace HibpIngest.Api.Responses;

// The JSON documents of requests and responses; the OpenAPI document describes the same types.

internal sealed record ErrorDocument(
    [property: JsonPropertyName("statusCode")] int StatusCode, [property: JsonPropertyName("message")] string Message);

internal sealed record RangeDocument(
    [property: JsonPropertyName("hashSuffix")] string HashSuffix,
    [property: JsonPropertyName("websites")] IReadOnlyList<string> Websites);

internal sealed record SubscribedDomain(string DomainName)
{
    public int? PwnCount => null;
    public int? PwnCountExcludingSpamLists => null;
    public int? PwnCountExcludingSpamListsAtLastSubscriptionRenewal => null;
    public DateTime? NextSubscriptionRenewal => null;
}

internal sealed record SubscriptionStatus(
    string SubscriptionName, string Description, DateTime SubscribedUntil, int Rpm, int DomainSearchMaxBreachedAccounts,
    int MaxBreachedDomains, bool IncludesStealerLogs, bool IncludesBulkDomainAdd, bool IncludesAutoSubdomainVerification,
    bool IncludesCustomerDomains, bool IncludesKAnon);

internal sealed record PasswordChanges(
    [property: JsonPropertyName("release")] string Release, [property: JsonPropertyName("mode")] string Mode,
    [property: JsonPropertyName("next")] DateTime Next, [property: JsonPropertyName("everything")] bool Everything,
    [property: JsonPropertyName("prefixes")] IEnumerable<string> Prefixes);

internal sealed record AppendItem(
    [property: JsonPropertyName("sha1")] string Sha1, [property: JsonPropertyName("ntlm")] string Ntlm,
    [property: JsonPropertyName("num")] int Num);

internal sealed record TransactionDocument([property: JsonPropertyName("transactionId")] Guid TransactionId);

internal sealed record PrefixDocument([property: JsonPropertyName("hashPrefix")] string HashPrefix);

internal sealed record PrefixLists(
    [property: JsonPropertyName("subscribe")] IReadOnlyList<string>? Subscribe,
    [property: JsonPropertyName("unsubscribe")] IReadOnlyList<string>? Unsubscribe);

internal sealed record PrefixCounts(
    [property: JsonPropertyName("subscribed")] int Subscribed, [property: JsonPropertyName("unsubscribed")] int Unsubscribed,
    [property: JsonPropertyName("total")] int Total);

internal sealed record PrefixCount([property: JsonPropertyName("total")] int Total);

internal sealed record EmptyDocument;

internal sealed record PasteDocument(string Id, string Source, string? Title, DateTime? Date, int EmailCount);

internal sealed record HealthDocument(
    [property: JsonPropertyName("status")] string Status,
    [property: JsonPropertyName("errors"), JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)] IReadOnlyList<string>? Errors);

internal sealed record PersonDocument(
    [property: JsonPropertyName("email")] string? Email, [property: JsonPropertyName("from")] string? From);

internal sealed record DomainDocument(
    [property: JsonPropertyName("DomainName")] string? DomainName,
    [property: JsonPropertyName("EmailAlias"), JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)] string? EmailAlias);

internal sealed record DnsTokenDocument([property: JsonPropertyName("txtRecordValue")] string TxtRecordValue);

internal sealed record MessageDocument([property: JsonPropertyName("message")] string Message);

[JsonSerializable(typeof(ErrorDocument))]
[JsonSerializable(typeof(PersonDocument))]
[JsonSerializable(typeof(DomainDocument))]
[JsonSerializable(typeof(DnsTokenDocument))]
[JsonSerializable(typeof(MessageDocument))]
[JsonSerializable(typeof(IEnumerable<RangeDocument>))]
[JsonSerializable(typeof(IEnumerable<SubscribedDomain>))]
[JsonSerializable(typeof(SubscriptionStatus))]
[JsonSerializable(typeof(PasswordChanges))]
[JsonSerializable(typeof(TransactionDocument))]
[JsonSerializable(typeof(PrefixCounts))]
[JsonSerializable(typeof(PrefixCount))]
[JsonSerializable(typeof(EmptyDocument))]
[JsonSerializable(typeof(HealthDocument))]
internal sealed partial class ApiJson : JsonSerializerContext
{
    /// <summary>Doesn't escape characters for HTML: no document is embedded in a page.</summary>
    public static readonly ApiJson Documents = new(new JsonSerializerOptions { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping });
}
