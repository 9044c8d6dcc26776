namespace HibpIngest.Testing;

internal sealed record HostAnswer(int Status, string Body);
