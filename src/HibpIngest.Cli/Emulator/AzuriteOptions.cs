namespace HibpIngest.Cli.Emulator;

/// <summary>Options for starting an <see cref="AzuriteEmulator"/>.</summary>
public sealed class AzuriteOptions
{
    /// <summary>Data folder, created if missing. Null: data is in memory, and lost when the emulator ends.</summary>
    public string? DataFolder { get; init; }

    /// <summary>Loopback port of the blob service; null: a free one.</summary>
    public int? BlobPort { get; init; }

    /// <summary>Loopback port of the queue service; null: a free one.</summary>
    public int? QueuePort { get; init; }

    /// <summary>Loopback port of the table service; null: a free one.</summary>
    public int? TablePort { get; init; }

    /// <summary>
    /// Number of storage accounts in addition to the well-known one, for tests that need one each; see
    /// <see cref="AzuriteEmulator.GetConnectionString"/>.
    /// </summary>
    public int ExtraAccounts { get; init; }

    /// <summary>Receives one line for each slow step (the installation).</summary>
    public IProgress<string>? Progress { get; init; }
}
