namespace HibpIngest.Breaches;

/// <param name="Id">Drawn from the store register.</param>
/// <param name="Settings">Everything that the load's positions depend on.</param>
public sealed record NewLoad(long Id, string Breach, BlobVersion Blob, LoadSettings Settings)
{
    /// <summary>The metadata document next to the file, merged into the breach's metadata. Null: there is none.</summary>
    public ReadOnlyMemory<byte>? Metadata { get; init; }

    /// <summary>One line: why the load can't start. It is then recorded as failed, and its metadata is not merged.</summary>
    public string? Failure { get; init; }

    /// <summary>One line: why the mails must wait for an operator.</summary>
    public string? HeldBecause { get; init; }
}
