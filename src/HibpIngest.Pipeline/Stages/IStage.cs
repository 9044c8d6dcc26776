using HibpIngest.Errors;

namespace HibpIngest.Pipeline;

/// <summary>
/// A stage's way with its messages: how work is taken on, done, given back and recorded as failed. When each of
/// these is due, and what becomes of the message, is <see cref="StageRunner"/>'s alone.
/// </summary>
public interface IStage<TMessage, TWork>
    where TMessage : PipelineMessage
    where TWork : class, IStageWork
{
    /// <summary>
    /// Takes on what the message is of. Null: there is nothing to be done, or the message has been sent again to
    /// come when there is.
    /// </summary>
    Task<TWork?> TakeAsync(TMessage message, CancellationToken cancellationToken);

    /// <summary>Does it; durable when this returns, or sent on.</summary>
    /// <exception cref="LoadLostException">Somebody else has it by now.</exception>
    /// <exception cref="StoreUnavailableException">A store is down: no try is used up.</exception>
    Task RunAsync(TWork work, CancellationToken cancellationToken);

    /// <summary>Gives it back: whoever goes on need not wait for a lease to run out.</summary>
    /// <param name="cause">A store that is down, a stop, or <see cref="LoadLostException"/>.</param>
    Task ReleaseAsync(TWork work, Exception cause);

    /// <summary>Records why it failed. Returns whether the message is to come again for another try.</summary>
    Task<bool> FailAsync(TWork work, Exception error);

    /// <summary>What an operator is told of work whose tries ended without a word.</summary>
    string UsedUp(TWork work);
}
