namespace HibpIngest.Pipeline.Messaging;

/// <summary>A stage's handling of its messages; <see cref="StageRunner"/> decides when to do what.</summary>
public interface IStage<TMessage, TWork>
    where TMessage : PipelineMessage
    where TWork : class, IStageWork
{
    /// <returns>Null if there is nothing to do now; if there will be later, the message has been sent again with a delay.</returns>
    Task<TWork?> ClaimAsync(TMessage message, CancellationToken cancellationToken);

    /// <summary>Runs the work. When it returns, the work is durably done, or a message for the rest has been sent.</summary>
    /// <exception cref="LoadLostException">Another owner has the work by now.</exception>
    /// <exception cref="UnavailableException">A store is unavailable: no attempt is used up.</exception>
    Task RunAsync(TWork work, CancellationToken cancellationToken);

    /// <summary>Releases the work, so that the next owner needn't wait for the lease to expire.</summary>
    /// <param name="cause">An unavailable store, a stop, or <see cref="LoadLostException"/>.</param>
    Task ReleaseAsync(TWork work, Exception cause) => Task.CompletedTask;

    /// <summary>Records a failure. Returns whether the message must be redelivered for another attempt.</summary>
    Task<bool> FailAsync(TWork work, Exception error);

    /// <summary>Describes work whose attempts all ended without an error, as by a crash. Not called if attempts don't count.</summary>
    string DescribeExhaustedRetries(TWork work) => throw new NotSupportedException("its attempts are not counted");
}

/// <summary>The work that a stage has claimed for one message. Disposing it stops the renewal of its lease, and never throws.</summary>
public interface IStageWork : IAsyncDisposable
{
    LoadId LoadId { get; }

    string Breach { get; }

    /// <summary>Number of attempts, including this one; 0 if they are not counted.</summary>
    int Attempts => 0;

    /// <summary>True if another owner has its lease by now.</summary>
    bool IsLost => false;

    ValueTask IAsyncDisposable.DisposeAsync() => ValueTask.CompletedTask;
}
