namespace HibpIngest.Pipeline;

/// <summary>What a database knows again, as the account log tells it.</summary>
/// <param name="Loads">Loads that were unknown, or not published.</param>
/// <param name="Told">Breaches of which something newer is known now.</param>
/// <param name="Hidden">Breaches that are hidden, as no document says that they may be shown.</param>
/// <param name="Removed">Breaches that were removed again.</param>
/// <param name="Begun">Folders of loads that nothing says of that they count: they did not come back.</param>
/// <param name="Problems">One line for each thing that could not be done.</param>
public sealed record LogRecovered(
    IReadOnlyList<RecoveredLoad> Loads, IReadOnlyList<string> Told, IReadOnlyList<string> Hidden, IReadOnlyList<string> Removed,
    IReadOnlyList<string> Begun, IReadOnlyList<string> Problems);

/// <summary>A load that came back.</summary>
/// <param name="Counts">False: another one was published in its place.</param>
public sealed record RecoveredLoad(long Load, string Breach, long Rows, bool Counts);
