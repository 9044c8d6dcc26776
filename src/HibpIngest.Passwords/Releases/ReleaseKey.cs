using System.Security.Cryptography;

namespace HibpIngest.Passwords.Releases;

/// <summary>
/// Identifies a release in paths, caches, messages and transactions. A name can be used again once its release was deleted; the id can't,
/// so nothing that was kept of the earlier release is taken for the later one's.
/// </summary>
/// <param name="Id">Random; null: the release was made before releases had one.</param>
public readonly record struct ReleaseKey(string Name, string? Id)
{
    // With the longest name, a table's name has 61 characters; the service takes 63.
    private const int IdDigits = 16;

    /// <summary>Makes a key for a new release.</summary>
    internal static ReleaseKey New(string name) => new(name, RandomNumberGenerator.GetHexString(IdDigits, lowercase: true));

    /// <summary>Reads a key as <see cref="ToString"/> writes it.</summary>
    public static ReleaseKey Parse(string text) =>
        text.IndexOf('/', StringComparison.Ordinal) is var slash and >= 0 ? new(text[..slash], text[(slash + 1)..]) : new(text, null);

    /// <summary>Returns <c>NAME/ID</c>, or <c>NAME</c> if there is no id.</summary>
    public override string ToString() => Id is null ? Name : $"{Name}/{Id}";
}
