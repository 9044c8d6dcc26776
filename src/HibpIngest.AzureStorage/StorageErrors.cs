using System.Net.Sockets;
using System.Text.Json;
using System.Xml;
using Azure;
using Azure.Identity;
using HibpIngest.Errors;

namespace HibpIngest.AzureStorage;

/// <summary>
/// Turns what the storage client libraries throw into the pipeline's errors, in one place. Messages name
/// operation, status and code; what the service wrote beside the code is left out, because it may repeat the
/// request (keys) or the string that was signed.
/// </summary>
internal static class StorageErrors
{
    /// <summary>The error that counts for what a call threw.</summary>
    /// <param name="operation">What was tried, without a key or an address: "listing of breaches".</param>
    public static Exception Map(Exception error, string operation, CancellationToken cancellationToken)
    {
        if (error is HibpException || (error is OperationCanceledException && cancellationToken.IsCancellationRequested))
            return error;
        // Several tries that all failed come as one.
        if (error is AggregateException several)
            error = several.Flatten().InnerExceptions[^1];
        return error switch
        {
            OperationCanceledException when cancellationToken.IsCancellationRequested => error,
            RequestFailedException { Status: > 0 } answered => FromStatus(operation, answered.Status, answered.ErrorCode),
            TokenOutageException outage => new StoreUnavailableException(
                $"{operation} failed: no token for the storage account just now ({FirstLine(outage.Message)})"),
            AuthenticationFailedException refused =>
                new StoreRefusedException($"{operation} failed: no token for the storage account ({FirstLine(refused.Message)})"),
            JsonException => Malformed(operation),
            // Of an error without a body, the library reads its body all the same.
            XmlException => new StoreUnavailableException($"{operation} failed: the answer is no XML"),
            RequestFailedException or HttpRequestException or IOException or SocketException or OperationCanceledException
                or TimeoutException =>
                new StoreUnavailableException($"{operation} failed: {Reason(error)}"),
            _ => error,
        };
    }

    /// <summary>The error for an answer of the service.</summary>
    public static HibpException FromStatus(string operation, int status, string? code)
    {
        // A code that isn't a word is not repeated: a server in between may have written it.
        if (code is null || code.Length is 0 or > 80 || !code.All(char.IsAsciiLetterOrDigit))
            code = null;
        var message = $"{operation} failed: status {status}{(code is null ? "" : $" ({code})")}";
        return (status, code) switch
        {
            (507, _) or (_, "InsufficientAccountResources" or "AccountCapacityExceeded" or "InsufficientStorage") =>
                new StoreFullException(message),
            (408 or 429 or >= 500, _) => new StoreUnavailableException(message),
            (412, _) or (404, "ResourceNotFound" or "EntityNotFound") => new EntityChangedException(message),
            // Deleted a moment ago; the service takes up to a minute or so over it.
            (409, "TableBeingDeleted" or "QueueBeingDeleted" or "ContainerBeingDeleted") => new StoreUnavailableException(message),
            (404, "ContainerNotFound" or "QueueNotFound" or "TableNotFound") => new StoreMissingException(message),
            (401 or 403 or 404, _) => new StoreRefusedException(message),
            // Whatever else it refuses is not mended by trying again: the request or the set-up is wrong.
            _ => new StoreRefusedException(message),
        };
    }

    public static HibpException Malformed(string operation) =>
        new StoreUnavailableException($"{operation} failed: the answer is not one of the table service (is a proxy in between?)");

    private static string Reason(Exception error)
    {
        if (error is OperationCanceledException or TimeoutException)
            return "no answer in time";
        var innermost = error.GetBaseException();
        return innermost is SocketException socket
            ? $"no connection ({socket.SocketErrorCode})" : $"connection lost ({FirstLine(innermost.Message)})";
    }

    private static string FirstLine(string text)
    {
        var line = text.AsSpan().Trim();
        var end = line.IndexOfAny('\r', '\n');
        return (end < 0 ? line : line[..end]).ToString();
    }
}
