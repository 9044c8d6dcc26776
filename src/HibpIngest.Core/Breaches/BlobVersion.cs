namespace HibpIngest.Breaches;

/// <summary>One version of a blob: its name in the container and its ETag (as the service returns it, including quotes).</summary>
public sealed record BlobVersion(string Name, string ETag);
