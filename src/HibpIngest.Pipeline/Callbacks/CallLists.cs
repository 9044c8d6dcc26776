namespace HibpIngest.Pipeline.Callbacks;

/// <summary>Opens the encrypted lists of the calls that are due, and settles those that can't be made.</summary>
public sealed class CallLists(ICallbackBlobs blobs, InstallationKeys keys, IOptions<CallbackOptions> options)
{
    private static readonly TimeSpan MaxPause = TimeSpan.FromHours(1);

    public TimeSpan GiveUpAfter => options.Value.CallGiveUp;

    /// <returns>Null if it is encrypted under a key that this host doesn't have.</returns>
    public string? SecretOf(CallbackClient client) => ClientOperations.OpenSecret(client, keys.Secret);

    public Task DeleteAsync(CallbackKey delivery, CancellationToken cancellationToken) => blobs.DeleteAsync(delivery, cancellationToken);

    internal TimeSpan PauseOf(int before)
    {
        var pause = options.Value.CallPause * Math.Pow(2, Math.Clamp(before, 0, 20));
        return (pause < MaxPause ? pause : MaxPause) * (1 - (Random.Shared.NextDouble() / 4));
    }

    internal async Task<(List<(CallbackDelivery Delivery, CallList Calls)> Opened, List<CallbackResult> Settled)> OpenAsync(
        CallbackClient client, IReadOnlyList<CallbackDelivery> due, CancellationToken cancellationToken)
    {
        var (opened, settled) = (new List<(CallbackDelivery, CallList)>(), new List<CallbackResult>());
        var contents = await Task.WhenAll(due.Select(one => blobs.ReadAsync(one.Key, cancellationToken)));
        foreach (var (delivery, content) in due.Zip(contents))
        {
            if (!client.IsCalledOf(delivery.Flags))
            {
                settled.Add(new CallbackResult(
                    delivery.Key, delivery.Done ?? [], delivery.Answered, CallbackState.Dropped,
                    "the breach was retired, or made sensitive, before this call was made"));
            }
            else if (content is null)
            {
                settled.Add(Failed(delivery, "the callback's content no longer exists"));
            }
            else if (keys.Secret is not { } secret || CallList.Open(secret, delivery.Key, content) is not { } calls
                || calls.Count != delivery.Calls)
            {
                settled.Add(Failed(delivery, "the callback's content is encrypted under a HIBP_SECRET_KEY that this host doesn't have"));
            }
            else
            {
                opened.Add((delivery, calls));
            }
        }
        return (opened, settled);
    }

    internal CallbackResult Failed(CallbackDelivery delivery, string reason) => new(
        delivery.Key, delivery.Done ?? [], delivery.Answered, CallbackState.Open, reason, PauseOf(delivery.Deferrals));
}
