namespace HibpIngest.Storage.Azure.Connections;

/// <summary>
/// Runs calls of the client libraries and throws the pipeline's errors. The operation names the call in messages, without a key or an
/// address: "listing of breaches".
/// </summary>
internal static class StorageCall
{
    public static async Task<T> RunAsync<T>(string operation, Func<Task<T>> call, CancellationToken cancellationToken)
    {
        try
        {
            return await call();
        }
        catch (Exception e)
        {
            if (StorageErrors.Map(e, operation, cancellationToken) is { } mapped)
                throw mapped;
            throw;
        }
    }

    /// <returns>The call's result; null (the default) after an error that <paramref name="isExpected"/> accepts.</returns>
    public static Task<T?> FindAsync<T>(
        string operation, Func<Task<T>> call, Func<RequestFailedException, bool> isExpected, CancellationToken cancellationToken) =>
        RunAsync(operation, async () =>
        {
            try
            {
                return await call();
            }
            catch (RequestFailedException e) when (isExpected(e))
            {
                return default;
            }
        }, cancellationToken);

    /// <returns>False after an error that <paramref name="isExpected"/> accepts.</returns>
    public static Task<bool> TryAsync(
        string operation, Func<Task> call, Func<RequestFailedException, bool> isExpected, CancellationToken cancellationToken) =>
        FindAsync(operation, async () =>
        {
            await call();
            return true;
        }, isExpected, cancellationToken);

    /// <summary>Neither the blob nor, perhaps, its container exists.</summary>
    public static bool IsNotFound(RequestFailedException e) => e.Status == 404;

    public static bool IsMissingBlob(RequestFailedException e) => IsNotFound(e) && e.ErrorCode != BlobErrorCode.ContainerNotFound;

    public static bool IsConditionNotMet(RequestFailedException e) => e.Status == 412;

    public static bool IsExistingBlob(RequestFailedException e) => IsConditionNotMet(e) || e.ErrorCode == BlobErrorCode.BlobAlreadyExists;

    public static bool IsOtherVersion(RequestFailedException e) => IsExistingBlob(e) || IsMissingBlob(e);

    public static bool IsBeyondEnd(RequestFailedException e) => e.ErrorCode == BlobErrorCode.InvalidRange || e.Status == 416;
}
