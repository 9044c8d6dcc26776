using System.Buffers.Text;

namespace HibpIngest.Passwords.Appends;

/// <summary>
/// The transactions that a range contains, oldest first: their ids in base64url (22 characters each), concatenated. They are written
/// together with the range in one request, so that each transaction counts once however often its message is delivered.
/// </summary>
internal readonly record struct AppliedTransactions(string Text)
{
    /// <summary>The maximum number of ids: a blob's metadata is limited to 8 KB, as are the headers of many servers.</summary>
    public const int Most = 300;

    private const int IdChars = 22;

    public int Count => Text.Length / IdChars;

    /// <summary>Parses the ids; null means none.</summary>
    /// <exception cref="StoreMismatchException">The text is not a list of ids.</exception>
    public static AppliedTransactions Parse(string? note) => note is null ? new("") : note.Length % IdChars == 0 ? new(note)
        : throw new StoreMismatchException("what a range of passwords was added to by can't be read: something else wrote it");

    public bool Contains(Guid id)
    {
        var text = Encode(id);
        for (var at = 0; at < Text.Length; at += IdChars)
        {
            if (Text.AsSpan(at, IdChars).SequenceEqual(text))
                return true;
        }
        return false;
    }

    public AppliedTransactions With(Guid id) => new(Text + Encode(id));

    /// <summary>Returns only the ids that are among the others.</summary>
    public AppliedTransactions Among(IEnumerable<Guid> others)
    {
        var known = others.Select(Encode).ToHashSet();
        return new(string.Concat(Text.Chunk(IdChars).Select(id => new string(id)).Where(known.Contains)));
    }

    private static string Encode(Guid id)
    {
        Span<byte> bytes = stackalloc byte[16];
        id.TryWriteBytes(bytes);
        return Base64Url.EncodeToString(bytes);
    }
}
