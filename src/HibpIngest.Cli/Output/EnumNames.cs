namespace HibpIngest.Cli.Output;

internal static class EnumNames
{
    // Enum parsing also accepts numbers and lists.
    public static bool TryParse<T>(string? name, out T value)
        where T : struct, Enum =>
        Enum.TryParse(name, ignoreCase: true, out value) && value.ToString().Equals(name, StringComparison.OrdinalIgnoreCase);

    public static string Join<T>(string separator)
        where T : struct, Enum => string.Join(separator, Enum.GetNames<T>()).ToLowerInvariant();
}
