namespace HibpIngest.Pipeline.Messaging;

/// <summary>Reports each message deferred because a store is unavailable, so that a run can end and a host can say why it waits.</summary>
public sealed class Deferrals
{
    private Action<DeferredMessage>? _subscribers;

    /// <summary>Adds a subscriber. It is called for each deferral from then on, by several threads concurrently.</summary>
    public void Subscribe(Action<DeferredMessage> subscriber) => _subscribers += subscriber;

    internal void Report(DeferredMessage message) => _subscribers?.Invoke(message);
}

/// <param name="Load">Its load. 0 if it has none, or it is not known.</param>
public sealed record DeferredMessage(string Queue, LoadId Load, UnavailableException Error, TimeSpan Delay);
