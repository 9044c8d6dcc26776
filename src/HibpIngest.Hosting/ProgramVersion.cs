using System.Reflection;

namespace HibpIngest.Hosting;

/// <summary>Which version of the program this is.</summary>
public static class ProgramVersion
{
    private const int ShortCommit = 7;

    /// <summary>As it was built: <c>1.2.3+commit</c>, or without a commit where it was built from no repository.</summary>
    public static string Full { get; } =
        typeof(ProgramVersion).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion ?? "unknown";

    /// <summary>The same with as much of the commit as people read out: <c>1.2.3 (1234567)</c>.</summary>
    public static string Short { get; } = Full.Split('+') is [var version, { Length: > ShortCommit } commit]
        ? $"{version} ({commit[..ShortCommit]})" : Full;
}
