namespace HibpIngest.Pipeline.Messaging;

/// <summary>The work that a stage has claimed for one message. Disposing it stops the renewal of its lease, and never throws.</summary>
public interface IStageWork : IAsyncDisposable
{
    long LoadId { get; }

    /// <summary>Name of the load's breach.</summary>
    string Breach { get; }

    /// <summary>Number of attempts, including this one; 0 if they are not counted.</summary>
    int Attempts { get; }

    /// <summary>Whether another owner has its lease by now.</summary>
    bool IsLost { get; }
}
