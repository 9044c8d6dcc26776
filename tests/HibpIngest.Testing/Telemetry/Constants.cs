using System.Reflection;

namespace HibpIngest.Testing;

internal static class Constants
{
    /// <summary>Returns the values of a class's public string constants.</summary>
    public static IReadOnlyList<string> Of(Type type) =>
        [.. type.GetFields(BindingFlags.Public | BindingFlags.Static).Select(field => field.GetRawConstantValue()).OfType<string>()];
}
