using HibpIngest.Breaches;
using HibpIngest.Errors;

namespace HibpIngest.Pipeline;

/// <summary>
/// SQL gave another number of rows than the slice recorded: nothing was upserted, because a part would look
/// whole.
/// </summary>
public sealed class RowsMissingException(Slice slice, int found)
    : HibpException(
        $"slice {slice.Number} of load {slice.Load} recorded {slice.Count} rows at positions {slice.First} to {slice.Last}, found {found}");
