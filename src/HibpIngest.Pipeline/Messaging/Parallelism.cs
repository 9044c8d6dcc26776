namespace HibpIngest.Pipeline.Messaging;

internal static class Parallelism
{
    public static ParallelOptions Of(int max, CancellationToken cancellationToken) =>
        new() { MaxDegreeOfParallelism = max, CancellationToken = cancellationToken };
}
