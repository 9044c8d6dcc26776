namespace HibpIngest.Passwords;

/// <param name="Bytes">Read of the files as they are, compressed or not; those that an earlier run had read are among
/// them.</param>
/// <param name="BytesInAll">Null where that isn't known.</param>
/// <param name="Lines">Read, in this run and those it goes on from.</param>
/// <param name="Rows">Hashes found so far, the same one as often as it came.</param>
public readonly record struct ImportProgress(long Bytes, long? BytesInAll, long Lines, long Rows);
