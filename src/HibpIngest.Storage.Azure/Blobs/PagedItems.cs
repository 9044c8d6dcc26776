using System.Runtime.CompilerServices;

namespace HibpIngest.Storage.Azure.Blobs;

internal static class PagedItems
{
    /// <param name="operation">Names the call in error messages.</param>
    /// <param name="isOptional">Whether a container or table that doesn't exist counts as an empty one.</param>
    public static async IAsyncEnumerable<T> EnumerateAsync<T>(
        this AsyncPageable<T> pages, string operation, bool isOptional, [EnumeratorCancellation] CancellationToken cancellationToken)
        where T : notnull
    {
        await using var items = pages.GetAsyncEnumerator(cancellationToken);
        while (await MoveNextAsync())
            yield return items.Current;

        async Task<bool> MoveNextAsync()
        {
            try
            {
                return await BreachBlobs.Call(operation, async () => await items.MoveNextAsync(), cancellationToken);
            }
            catch (StoreMissingException) when (isOptional)
            {
                return false;
            }
        }
    }
}
