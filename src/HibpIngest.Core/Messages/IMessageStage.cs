namespace HibpIngest.Messages;

/// <summary>Processes one type of messages that belong to no load.</summary>
public interface IMessageStage<TMessage>
    where TMessage : WorkMessage
{
    /// <summary>Returns when the message's work is durably done. A redelivery finds it done, or completes it.</summary>
    /// <exception cref="Errors.StoreUnavailableException">A store is unavailable: the message is deferred.</exception>
    Task RunAsync(TMessage message, CancellationToken cancellationToken);
}
