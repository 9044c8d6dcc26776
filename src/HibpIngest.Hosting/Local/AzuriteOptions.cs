namespace HibpIngest.Hosting.Local;

/// <summary>How an emulator of one's own is started.</summary>
public sealed class AzuriteOptions
{
    /// <summary>Where it keeps its data, made when missing; null: in memory, gone when it ends.</summary>
    public string? DataFolder { get; init; }

    /// <summary>Loopback port of the blob service; null: a free one.</summary>
    public int? BlobPort { get; init; }

    /// <summary>Loopback port of the queue service; null: a free one.</summary>
    public int? QueuePort { get; init; }

    /// <summary>Loopback port of the table service; null: a free one.</summary>
    public int? TablePort { get; init; }

    /// <summary>
    /// Storage accounts beside the emulator's well-known one, for tests that want one each; named by
    /// <see cref="AzuriteEmulator.GetConnectionString"/>.
    /// </summary>
    public int ExtraAccounts { get; init; }

    /// <summary>Told, in one line each, what takes long (installing it).</summary>
    public IProgress<string>? Progress { get; init; }
}
