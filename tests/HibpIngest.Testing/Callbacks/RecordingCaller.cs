namespace HibpIngest.Testing;

/// <summary>Records all calls, and returns the response that the test chooses.</summary>
internal sealed class RecordingCaller : ICallbackSender
{
    public static readonly CallResponse Accepted = new(CallOutcome.Accepted, 200, null, null);

    public static readonly CallResponse Refused = new(CallOutcome.Refused, 500, null, "it answered 500");

    public static readonly CallResponse Gone = new(CallOutcome.Gone, 410, null, "it answered 410");

    private int _inFlight;

    public Func<RecordedCall, Task<CallResponse>> Answer { get; set; } = _ => Task.FromResult(Accepted);

    public ConcurrentQueue<RecordedCall> Calls { get; } = new();

    public ConcurrentQueue<RecordedCall> Taken { get; } = new();

    public int MaxInFlight { get; private set; }

    public static CallResponse Throttled(TimeSpan? retryAfter) => new(CallOutcome.Throttled, 429, retryAfter, "it answered 429");

    /// <summary>Returns breach, prefix and suffix of everything accepted, sorted, without repeats.</summary>
    public IReadOnlyList<string> ItemsOf(string url) =>
        [.. Taken.Where(call => call.Url == url).SelectMany(call => call.Suffixes.Select(suffix => $"{call.Breach} {call.Prefix}{suffix}"))
            .Distinct().Order(StringComparer.Ordinal)];

    public async Task<CallResponse> CallAsync(
        CallTarget target, ReadOnlyMemory<byte> body, string idempotencyKey, CancellationToken cancellationToken)
    {
        using var json = JsonDocument.Parse(body);
        Assert.Equal(["breachName", "hashPrefix", "hashSuffixes"], json.RootElement.EnumerateObject().Select(one => one.Name));
        var call = new RecordedCall(
            target.Url.AbsoluteUri, target.Secret, json.RootElement.GetProperty("breachName").GetString()!,
            json.RootElement.GetProperty("hashPrefix").GetString()!,
            [.. json.RootElement.GetProperty("hashSuffixes").EnumerateArray().Select(one => one.GetString()!)], idempotencyKey,
            Encoding.UTF8.GetString(body.Span));
        lock (Calls)
            MaxInFlight = Math.Max(MaxInFlight, ++_inFlight);
        Calls.Enqueue(call);
        try
        {
            var answer = await Answer(call);
            if (answer.Outcome == CallOutcome.Accepted)
                Taken.Enqueue(call);
            return answer;
        }
        finally
        {
            lock (Calls)
                _inFlight--;
        }
    }

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;
}

internal sealed record RecordedCall(
    string Url, string Secret, string Breach, string Prefix, IReadOnlyList<string> Suffixes, string Key, string Body);
