namespace HibpIngest.Testing;

/// <summary>
/// A request that a Functions host sent to its worker, for a client's request or for an invocation, recorded byte for
/// byte in Host/Http/forwarding.jsonl and proxying.jsonl, one per line. The function matched every path; routePrefix
/// was empty.
/// </summary>
/// <param name="Name">The recorded case; the same in both modes.</param>
/// <param name="Mode">forwarding or proxying, as in host.json.</param>
/// <param name="Target">From the request line, verbatim.</param>
/// <param name="Body">Null if it was too long or binary, and not recorded.</param>
internal sealed partial record RecordedRequest(
    string Name, string Mode, string Method, string Target, IReadOnlyList<(string Name, string Value)> Headers, int BodyLength,
    string? Body)
{
    public const string Forwarding = "forwarding";

    public const string Proxying = "proxying";

    public static IReadOnlyList<RecordedRequest> All { get; } = [.. ReadAll(Forwarding), .. ReadAll(Proxying)];

    public static RecordedRequest Of(string mode, string name) => All.Single(one => one.Mode == mode && one.Name == name);

    /// <returns>Null if it wasn't sent.</returns>
    public string? Header(string name) =>
        Headers.Where(header => header.Name.Equals(name, StringComparison.OrdinalIgnoreCase))
        .Select(header => header.Value).SingleOrDefault();

    private static IEnumerable<RecordedRequest> ReadAll(string mode)
    {
        foreach (var line in File.ReadLines(RepositoryFile.Path($"tests/HibpIngest.Testing/Functions/Host/Http/{mode}.jsonl")))
        {
            var recording = JsonElement.Parse(line);
            var handler = recording.GetProperty("handler");
            yield return new RecordedRequest(
                recording.GetProperty("name").GetString()!, mode, handler.GetProperty("method").GetString()!,
                Restore(handler.GetProperty("url").GetString()!),
                [.. handler.GetProperty("headers").EnumerateArray().Select(header => (header[0].GetString()!, header[1].GetString()!))],
                handler.GetProperty("bodyLength").GetInt32(),
                handler.TryGetProperty("body", out var body) ? body.GetString() : null);
        }
    }

    /// <summary>Targets of thousands of the same letter were recorded as "/aaa... (4097 characters)".</summary>
    private static string Restore(string target)
    {
        var match = Shortened().Match(target);
        return !match.Success ? target : match.Groups["begin"].Value.PadRight(
            int.Parse(match.Groups["length"].Value, CultureInfo.InvariantCulture), match.Groups["begin"].Value[^1]);
    }

    [GeneratedRegex(@"^(?<begin>.*)\.\.\. \((?<length>\d+) characters\)$", RegexOptions.ExplicitCapture, 60_000)]
    private static partial Regex Shortened();
}
