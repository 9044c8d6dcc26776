namespace HibpIngest.Breaches;

/// <summary>One version of a blob: name within the container and ETag (as the service gives it, quotes included).</summary>
public sealed record BlobVersion(string Name, string ETag);
