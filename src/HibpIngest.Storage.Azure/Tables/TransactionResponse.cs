namespace HibpIngest.Storage.Azure.Tables;

/// <summary>
/// The result of an entity group transaction. The service applies all of it or nothing, so only the first failed part counts.
/// </summary>
/// <param name="Succeeded">Parts answered 2xx.</param>
/// <param name="FailedStatus">Status of the first failed part; 0: none.</param>
/// <param name="FailedIndex">The failed operation's index (0-based); null: the service doesn't name it.</param>
internal readonly record struct TransactionResponse(int Succeeded, int FailedStatus, string Code, int? FailedIndex)
{
    public static TransactionResponse Parse(ReadOnlySpan<byte> body)
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
