using System.Net.Sockets;
using System.Xml;
using Azure.Identity;

namespace HibpIngest.Storage.Azure.Connections;

/// <summary>
/// Maps exceptions of the storage client libraries to the pipeline's errors. Messages omit the service's text, which may repeat the request
/// (keys) or the string that was signed.
/// </summary>
internal static class StorageErrors
{
    /// <returns>The error to throw instead; null to throw the exception itself.</returns>
    public static Exception? Map(Exception error, string operation, CancellationToken cancellationToken)
    {
        // The library throws an AggregateException after several failed attempts.
        var cause = error is AggregateException several ? several.Flatten().InnerExceptions[^1] : error;
        var unmapped = cause == error ? null : cause;
        return cause switch
        {
            OperationCanceledException when cancellationToken.IsCancellationRequested => unmapped,
            RequestFailedException { Status: > 0 } answered => FromStatus(operation, answered.Status, answered.ErrorCode),
            TokenOutageException outage => new UnavailableException(
                operation, $"no token for the storage account at present ({FirstLine(outage.Message)})"),
            AuthenticationFailedException refused =>
                new StoreRefusedException($"{operation} failed: no token for the storage account ({FirstLine(refused.Message)})"),
            JsonException => Malformed(operation),
            // The library parses the body of an error response even if it is empty.
            XmlException => new UnavailableException(operation, "the response is not XML"),
            RequestFailedException or HttpRequestException or IOException or SocketException or OperationCanceledException
                or TimeoutException =>
                new UnavailableException(operation, Reason(cause)),
            _ => unmapped,
        };
    }

    public static HibpException FromStatus(string operation, int status, string? code)
    {
        // A code that isn't a plain word is left out: a proxy may have written it.
        if (code is null || code.Length is 0 or > 80 || !code.All(char.IsAsciiLetterOrDigit))
            code = null;
        var cause = $"status {status}{(code is null ? "" : $" ({code})")}";
        var message = $"{operation} failed: {cause}";
        return (status, code) switch
        {
            (507, _) or (_, "InsufficientAccountResources" or "AccountCapacityExceeded" or "InsufficientStorage") =>
                new StoreFullException(message) { Cause = cause },
            (408 or 429 or >= 500, _) => new UnavailableException(operation, cause),
            (412, _) or (404, "ResourceNotFound" or "EntityNotFound") => new EntityChangedException(message),
            // The service takes up to about a minute to complete a deletion.
            (409, "TableBeingDeleted" or "QueueBeingDeleted" or "ContainerBeingDeleted") => new UnavailableException(operation, cause),
            (404, "ContainerNotFound" or "QueueNotFound" or "TableNotFound") => new StoreMissingException(message),
            // A retry doesn't help: the request or the configuration is wrong.
            _ => new StoreRefusedException(message),
        };
    }

    public static HibpException Malformed(string operation) =>
        new UnavailableException(operation, "the response is not from the table service (is a proxy in between?)");

    private static string Reason(Exception error)
    {
        if (error is OperationCanceledException or TimeoutException)
            return "no response in time";
        var innermost = error.GetBaseException();
        return innermost is SocketException socket
            ? $"no connection ({socket.SocketErrorCode})" : $"connection lost ({FirstLine(innermost.Message)})";
    }

    private static string FirstLine(string text) => text.Trim().Split('\r', '\n')[0];
}

/// <summary>The entity or blob to be changed no longer exists or has another version.</summary>
internal sealed class EntityChangedException(string message) : StoreRefusedException(message);
