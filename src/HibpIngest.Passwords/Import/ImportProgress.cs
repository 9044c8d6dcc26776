namespace HibpIngest.Passwords.Import;

/// <param name="Bytes">Bytes read from the files, compressed or not, including earlier runs.</param>
/// <param name="BytesInAll">Null if unknown.</param>
/// <param name="Lines">Lines read, including earlier runs.</param>
/// <param name="Rows">Hashes found so far; duplicates count each time.</param>
public readonly record struct ImportProgress(long Bytes, long? BytesInAll, long Lines, long Rows);
