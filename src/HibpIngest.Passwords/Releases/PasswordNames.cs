namespace HibpIngest.Passwords.Releases;

/// <summary>Names of the blobs and tables of Pwned Passwords.</summary>
public static class PasswordNames
{
    /// <summary>The document that names the served release and its back end.</summary>
    public const string Current = "current.json";

    /// <summary>The ranges of a group share the first two digits.</summary>
    public const int Groups = 256;

    public const int RangesOfGroup = HashModes.Ranges / Groups;

    internal const string AllReleases = "releases/";
    internal const string AllImports = "imports/";
    internal const string AllRefused = "refused/";

    private const int MaxNameLength = 32;

    public static string Release(string name) => $"{Folder(name)}release.json";

    /// <summary>Returns the folder of all releases with this name, deleted ones included.</summary>
    internal static string Folder(string name) => $"{AllReleases}{name}/";

    public static string Pack(ReleaseKey release, HashMode mode, int pack) =>
        $"releases/{release}/pack/{mode.Name()}/{pack.ToString("X2", CultureInfo.InvariantCulture)}";

    public static string Index(ReleaseKey release, HashMode mode) => $"releases/{release}/pack/{mode.Name()}/index";

    public static string Range(ReleaseKey release, HashMode mode, int prefix) =>
        $"releases/{release}/blob/{mode.Name()}/{HashModes.PrefixText(prefix)}";

    /// <summary>The list of the ranges that the blob or table back end holds.</summary>
    public static string Present(ReleaseKey release, PasswordBackend backend, HashMode mode) =>
        $"releases/{release}/{Name(backend)}/{mode.Name()}/present";

    public static string Overlay(ReleaseKey release, HashMode mode, int prefix) =>
        $"releases/{release}/overlay/{mode.Name()}/{HashModes.PrefixText(prefix)}";

    /// <summary>The list of a release's changed ranges, in files numbered from 1.</summary>
    public static string Changes(ReleaseKey release, int file) =>
        $"releases/{release}/changes/{file.ToString("D4", CultureInfo.InvariantCulture)}";

    /// <summary>The position up to which changed ranges were purged from caches.</summary>
    public static string Purged(ReleaseKey release) => $"releases/{release}/changes/purged.json";

    /// <summary>The position up to which a replica has the changes of its primary.</summary>
    public static string Copied(ReleaseKey release) => $"releases/{release}/changes/copied.json";

    /// <summary>While this blob exists, the release is being repacked: no append is started with it.</summary>
    public static string Hold(ReleaseKey release) => $"releases/{release}/hold.json";

    internal static string Imports(string release) => $"{AllImports}{release}/";

    internal static string PlanOfImport(string release, HashMode mode) => $"{Imports(release)}{mode.Name()}/plan.json";

    internal static string ImportedGroups(ReleaseKey release, HashMode mode, string plan) =>
        $"{Imports(release.Name)}{mode.Name()}/{plan}{(release.Id is null ? "" : $"-{release.Id}")}/";

    internal static string Refused(string file) => $"{AllRefused}{file}.json";

    public static string Table(ReleaseKey release, HashMode mode) => $"passwords{mode.Name()}{release.Name}{release.Id}";

    /// <summary>Returns the name in settings and commands: <c>pack</c>.</summary>
    public static string Name(this PasswordBackend backend) => backend.ToString().ToLowerInvariant();

    /// <summary>Checks a release's name, which becomes part of a table's.</summary>
    public static string CheckRelease(string name) =>
        name.Length is > 0 and <= MaxNameLength && name.All(char.IsAsciiLetterOrDigit) && !name.Any(char.IsAsciiLetterUpper)
            ? name : throw new BadInputException(
                $"release name: expected 1 to {MaxNameLength} digits and lower-case letters, as 20261122, found '{name}'");
}
