namespace HibpIngest.Pipeline.Ingest;

/// <summary>Receives the accounts that the scanner finds, in the order of the text.</summary>
public interface IAccountSink
{
    /// <summary>Adds an account that passes every rule, in lower-case ASCII. The spans are valid only during the call.</summary>
    void Add(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain);
}
