using System.Reflection;

namespace HibpIngest.Testing;

internal static class Constants
{
    /// <summary>The texts among a class's public constants.</summary>
    public static IReadOnlyList<string> Of(Type type) =>
        [.. type.GetFields(BindingFlags.Public | BindingFlags.Static).Select(field => field.GetRawConstantValue()).OfType<string>()];
}
