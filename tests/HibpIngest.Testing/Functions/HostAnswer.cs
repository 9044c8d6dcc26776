namespace HibpIngest.Testing;

/// <summary>An answer to an HTTP request.</summary>
internal sealed record HostAnswer(int Status, string Body);
