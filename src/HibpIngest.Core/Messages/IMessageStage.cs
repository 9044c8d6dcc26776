namespace HibpIngest.Messages;

/// <summary>Does the work of a type of messages that belong to no load.</summary>
public interface IMessageStage<TMessage>
    where TMessage : WorkMessage
{
    /// <summary>Returns when the message's work is durably done. A redelivery finds it done, or does the rest.</summary>
    /// <exception cref="Errors.StoreUnavailableException">A store is unavailable: the message is deferred.</exception>
    Task RunAsync(TMessage message, CancellationToken cancellationToken);
}
