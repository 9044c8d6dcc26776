using System.Text.Json;
using Azure.Core;

namespace HibpIngest.AzureStorage.Tables;

internal sealed partial class TableService
{
    /// <summary>
    /// One page of what a filter finds, in key order, with what all it holds. It may be empty and still not be
    /// the last.
    /// </summary>
    /// <param name="table">The table.</param>
    /// <param name="filter">In OData.</param>
    /// <param name="token">Where the page begins, as the page before said; null: at the start.</param>
    /// <param name="operation">For messages.</param>
    /// <param name="cancellationToken">Stops it.</param>
    /// <returns>The entities, and where the next page begins; null: there is none.</returns>
    public async Task<(IReadOnlyList<JsonElement> Entities, string? Next)> QueryPageAsync(
        string table, string filter, string? token, string operation, CancellationToken cancellationToken)
    {
        var address = Address($"{table}()", $"$filter={Uri.EscapeDataString(filter)}{token}");
        using var answer = await SendAsync(RequestMethod.Get, address, null, null, MinimalMetadata, operation, cancellationToken);
        answer.ThrowUnlessSuccess(operation);
        var page = answer.Json(operation);
        if (page.ValueKind != JsonValueKind.Object
            || !page.TryGetProperty("value", out var entities)
            || entities.ValueKind != JsonValueKind.Array)
            throw TableAnswer.Malformed(operation);
        return ([.. entities.EnumerateArray()], Continuation(answer));
    }
}
