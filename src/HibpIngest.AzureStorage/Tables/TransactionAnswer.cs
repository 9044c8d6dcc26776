namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// What the answer to an entity group transaction says of its parts. It is done whole or not at all, so the
/// first part that failed is all that counts.
/// </summary>
/// <param name="Succeeded">Parts answered 2xx.</param>
/// <param name="FailedStatus">Status of the first part that failed; 0: none.</param>
/// <param name="FailedIndex">Which operation (0-based) it is of, where the service says so.</param>
internal readonly record struct TransactionAnswer(int Succeeded, int FailedStatus, string Code, int? FailedIndex)
{
    public static TransactionAnswer Parse(ReadOnlySpan<byte> body)
    {
        var succeeded = 0;
        while (true)
        {
            var at = body.IndexOf("HTTP/1.1 "u8);
            if (at < 0 || body.Length < at + 12)
                return new(succeeded, 0, "", null);
            body = body[(at + 9)..];
            var status = Digit(body[0]) * 100 + Digit(body[1]) * 10 + Digit(body[2]);
            if (status is >= 200 and < 300)
            {
                succeeded++;
            }
            else if (status is >= 300 and < 600)
            {
                var (code, index) = ODataError.Parse(body);
                return new(succeeded, status, code, index);
            }
        }
    }

    private static int Digit(byte character) => character is >= (byte)'0' and <= (byte)'9' ? character - '0' : 1000;
}
