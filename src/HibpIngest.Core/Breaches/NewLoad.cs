namespace HibpIngest.Breaches;

/// <param name="Id">Drawn from the store register.</param>
/// <param name="Settings">What its positions depend on.</param>
public sealed record NewLoad(long Id, string Breach, BlobVersion Blob, LoadSettings Settings)
{
    /// <summary>The metadata document beside the file, merged into the breach's metadata; null: there is none.</summary>
    public ReadOnlyMemory<byte>? Metadata { get; init; }

    /// <summary>One line: why it can't begin; it is then recorded as failed, and its metadata is not merged.</summary>
    public string? Failure { get; init; }

    /// <summary>One line: why its mails are to wait for an operator.</summary>
    public string? HeldBecause { get; init; }
}
