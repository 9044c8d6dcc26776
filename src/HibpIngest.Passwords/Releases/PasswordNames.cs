using System.Globalization;
using HibpIngest.Errors;

namespace HibpIngest.Passwords;

/// <summary>What blobs and tables of Pwned Passwords are named.</summary>
public static class PasswordNames
{
    /// <summary>Which release is served, from which back end.</summary>
    public const string Current = "current.json";

    /// <summary>Groups of ranges: those whose first two digits are the same.</summary>
    public const int Groups = 256;

    public const int RangesOfGroup = HashModes.Ranges / Groups;

    internal const string AllReleases = "releases/";

    private const int LongestRelease = 32;

    public static string Release(string name) => $"{Folder(name)}release.json";

    /// <summary>Returns the folder of all releases that ever had a name.</summary>
    internal static string Folder(string name) => $"{AllReleases}{name}/";

    /// <summary>One of the 256 packs of a mode.</summary>
    public static string Pack(ReleaseKey release, HashMode mode, int pack) =>
        $"releases/{release}/pack/{mode.Name()}/{pack.ToString("X2", CultureInfo.InvariantCulture)}";

    /// <summary>Where the packs' members are.</summary>
    public static string Index(ReleaseKey release, HashMode mode) => $"releases/{release}/pack/{mode.Name()}/index";

    /// <summary>One range of the back end of blobs.</summary>
    public static string Range(ReleaseKey release, HashMode mode, int prefix) =>
        $"releases/{release}/blob/{mode.Name()}/{HashModes.PrefixText(prefix)}";

    /// <summary>Which ranges of the back ends of blobs or tables there are.</summary>
    public static string Present(ReleaseKey release, PasswordBackend backend, HashMode mode) =>
        $"releases/{release}/{Name(backend)}/{mode.Name()}/present";

    /// <summary>One range of a release as it is since something was added to it.</summary>
    public static string Overlay(ReleaseKey release, HashMode mode, int prefix) =>
        $"releases/{release}/overlay/{mode.Name()}/{HashModes.PrefixText(prefix)}";

    /// <summary>Which ranges of a release were added to, in order: the first file, from 1, and those that came when one was full.</summary>
    public static string Changes(ReleaseKey release, int file) =>
        $"releases/{release}/changes/{file.ToString("D4", CultureInfo.InvariantCulture)}";

    /// <summary>Up to where caches were told of changes.</summary>
    public static string Purged(ReleaseKey release) => $"releases/{release}/changes/purged.json";

    /// <summary>Up to where a replica has the changes of its primary.</summary>
    public static string Copied(ReleaseKey release) => $"releases/{release}/changes/copied.json";

    /// <summary>While it is there, no transaction is begun to be added to the release.</summary>
    public static string Hold(ReleaseKey release) => $"releases/{release}/hold.json";

    /// <summary>Folder of what is noted of imports of dropped files into any release.</summary>
    internal const string AllImports = "imports/";

    /// <summary>Folder of the notes of dropped files that are not imported.</summary>
    internal const string AllRefused = "refused/";

    /// <summary>Folder of what is noted of imports of dropped files into a release.</summary>
    internal static string Imports(string release) => $"{AllImports}{release}/";

    /// <summary>Which dropped file is imported into a release.</summary>
    internal static string ImportPlan(string release, HashMode mode) => $"{Imports(release)}{mode.Name()}/plan.json";

    /// <summary>Folder of what was done by a plan.</summary>
    internal static string ImportedGroups(ReleaseKey release, HashMode mode, string plan) =>
        $"{Imports(release.Name)}{mode.Name()}/{plan}{(release.Id is null ? "" : $"-{release.Id}")}/";

    /// <summary>Why a dropped file is not imported.</summary>
    internal static string Refused(string file) => $"{AllRefused}{file}.json";

    public static string Table(ReleaseKey release, HashMode mode) => $"passwords{mode.Name()}{release.Name}{release.Id}";

    /// <summary>As it is written in settings and commands: <c>pack</c>.</summary>
    public static string Name(this PasswordBackend backend) => backend.ToString().ToLowerInvariant();

    /// <summary>Checks a release's name, which becomes part of a table's.</summary>
    /// <exception cref="BadInputException">It can't be one.</exception>
    public static string CheckRelease(string name) =>
        name.Length is > 0 and <= LongestRelease && name.All(char.IsAsciiLetterOrDigit) && !name.Any(char.IsAsciiLetterUpper)
            ? name : throw new BadInputException(
                $"a release's name is expected to be 1 to {LongestRelease} digits and lower-case letters, as 20261122, found '{name}'");
}
