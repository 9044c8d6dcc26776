using Microsoft.AspNetCore.WebUtilities;

namespace HibpIngest.Api.Pages;

internal static class PageForm
{
    public const int MaxBodyBytes = 4_096;

    /// <returns>A form without fields if there is no body or it is too long.</returns>
    public static async Task<IReadOnlyDictionary<string, string?>> ReadAsync(HttpContext context, TimeProvider time)
    {
        using var body = await RequestBody.ReadAsync(context, MaxBodyBytes, time);
        return Parse(body is null ? [] : body.Bytes);
    }

    public static IReadOnlyDictionary<string, string?> Parse(ReadOnlySpan<byte> form) =>
        QueryHelpers.ParseQuery(Encoding.UTF8.GetString(form)).ToDictionary(
            field => field.Key, field => field.Value.FirstOrDefault(), StringComparer.Ordinal);

    public static string? AddressOf(string? text)
    {
        var email = text?.Trim().ToLowerInvariant();
        return email is not null && AccountRules.TryParse(email, out _, out _) && MailSyntax.IsAddress(email) ? email : null;
    }

    public static string? DomainOf(string? text) => AccountRules.TryParseDomain(text?.Trim() ?? "", out var domain, out _) ? domain : null;
}
