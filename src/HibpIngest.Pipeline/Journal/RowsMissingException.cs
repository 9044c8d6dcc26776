namespace HibpIngest.Pipeline.Journal;

/// <summary>SQL returned another number of rows than the slice recorded. Nothing was upserted: a part would look complete.</summary>
public sealed class RowsMissingException(Slice slice, int found)
    : HibpException(
        $"slice {slice.Number} of load {slice.Load} recorded {slice.Count} rows at positions {slice.First} to {slice.Last}, found {found}");
