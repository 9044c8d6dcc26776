namespace HibpIngest.Pipeline;

/// <summary>
/// Takes the accounts that the scanner finds, in the order of the text. The spans are valid during the call
/// only.
/// </summary>
public interface IAccountSink
{
    /// <summary>One account that keeps every rule, lower-case ASCII.</summary>
    void Add(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain);
}
