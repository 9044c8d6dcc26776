using HibpIngest.Breaches;

namespace HibpIngest.Passwords;

/// <summary>One text of the inputs, while it is the one that is read.</summary>
/// <param name="Name">For messages: the input's, and the entry's behind it.</param>
/// <param name="Content">From <paramref name="Offset"/> on; not disposed by who reads it.</param>
/// <param name="Offset">Bytes of it that an earlier run was done with.</param>
/// <param name="TextLines">Lines of it that an earlier run was done with.</param>
internal sealed record InputText(
    int Input, ArchivePosition Entry, int Text, string Name, Stream Content, long Offset, long TextLines);
