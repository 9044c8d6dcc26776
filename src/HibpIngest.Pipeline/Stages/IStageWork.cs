namespace HibpIngest.Pipeline;

/// <summary>What a stage has taken on by one message. Disposing it stops what keeps its lease, and never fails.</summary>
public interface IStageWork : IAsyncDisposable
{
    long LoadId { get; }

    /// <summary>Name of the load's breach.</summary>
    string Breach { get; }

    /// <summary>Tries of it, this one included; 0 where they don't count.</summary>
    int Attempts { get; }

    /// <summary>Its lease is somebody else's by now.</summary>
    bool IsLost { get; }
}
