namespace HibpIngest.Passwords.Import;

/// <summary>A block of a text, with room before it for the previous block's unfinished line.</summary>
internal sealed class TextBlock(int room, int bytes)
{
    private readonly byte[] _bytes = GC.AllocateUninitializedArray<byte>(room + bytes);
    private int _begin;
    private int _end;

    public InputText Text { get; private set; } = null!;

    public bool IsBegin { get; private set; }

    public bool IsEnd { get; private set; }

    /// <summary>Bytes of the inputs as they are stored, including this block.</summary>
    public long BytesRead { get; set; }

    public ReadOnlySpan<byte> Span => _bytes.AsSpan(_begin, _end - _begin);

    public void Fill(InputText text, bool isBegin)
    {
        var piece = _bytes.AsSpan(room, bytes);
        var read = text.Content.ReadAtLeast(piece, piece.Length, throwOnEndOfStream: false);
        (Text, IsBegin, IsEnd) = (text, isBegin, read < piece.Length);
        (_begin, _end) = (room, room + read);
    }

    public void Prepend(ReadOnlySpan<byte> left)
    {
        _begin -= left.Length;
        left.CopyTo(_bytes.AsSpan(_begin));
    }
}
