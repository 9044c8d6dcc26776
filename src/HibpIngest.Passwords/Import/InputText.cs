namespace HibpIngest.Passwords.Import;

/// <summary>The text of the inputs that is currently read.</summary>
/// <param name="Name">Used in messages: the input's name followed by the entry's.</param>
/// <param name="Content">Begins at <paramref name="Offset"/>; not to be disposed by the reader.</param>
/// <param name="Offset">Bytes of the text that an earlier run has processed.</param>
/// <param name="TextLines">Lines of the text that an earlier run has processed.</param>
internal sealed record InputText(
    int Input, ArchivePosition Entry, int Text, string Name, Stream Content, long Offset, long TextLines);
