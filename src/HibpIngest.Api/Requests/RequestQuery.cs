namespace HibpIngest.Api.Requests;

internal static class RequestQuery
{
    /// <summary>Returns the first value of a repeated parameter; some hosts join the values with a comma.</summary>
    public static string? First(string? values) => values?.Split(',')[0].Trim();
}

internal readonly record struct Flag(bool? Value)
{
    /// <summary>Accepts any text: one that is neither on nor off counts as not given, and is no error.</summary>
    public static bool TryParse(string text, out Flag flag)
    {
        flag = new Flag(bool.TryParse(RequestQuery.First(text), out var value) ? value : null);
        return true;
    }
}
