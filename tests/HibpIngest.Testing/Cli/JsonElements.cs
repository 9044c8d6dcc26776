namespace HibpIngest.Testing;

/// <summary>Reads properties of the documents of --json.</summary>
internal static class JsonElements
{
    public static string? Text(this JsonElement element, string property) => element.GetProperty(property).GetString();

    public static long Number(this JsonElement element, string property) => element.GetProperty(property).GetInt64();

    public static bool Flag(this JsonElement element, string property) => element.GetProperty(property).GetBoolean();

    public static IReadOnlyList<JsonElement> List(this JsonElement element, string property) =>
        [.. element.GetProperty(property).EnumerateArray()];
}
