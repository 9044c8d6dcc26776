using System.Reflection;

namespace HibpIngest.Hosting;

public static class ProgramVersion
{
    private const int ShortCommit = 7;

    /// <summary>The version as built: <c>1.2.3+commit</c>, or without a commit if it was built outside a repository.</summary>
    public static string Full { get; } =
        typeof(ProgramVersion).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion ?? "unknown";

    /// <summary>The version with a short commit: <c>1.2.3 (1234567)</c>.</summary>
    public static string Short { get; } = Full.Split('+') is [var version, { Length: > ShortCommit } commit]
        ? $"{version} ({commit[..ShortCommit]})" : Full;
}
