using HibpIngest.Api.Requests;
using HibpIngest.Passwords.Appends;
using HibpIngest.Tests.Passwords;

namespace HibpIngest.Tests.Api;

public sealed class AppendDocumentTests(ITestOutputHelper output)
{
    private const string Sha1 = "F4A69973E7B0BF9D160F9F60E3C3ACD2494BEB0D";
    private const string Ntlm = "FC525C9683E8FE067095BA2DDC971889";
    private const string Good = $$"""{"sha1":"{{Sha1}}","ntlm":"{{Ntlm}}","num":15}""";

    private const int FuzzedDocuments = 40_000;

    /// <summary>Accepted, not JSON, and six messages about an invalid item.</summary>
    private const int Outcomes = 8;

    private const string Accepted = "accepted";
    private const string NotJson = "not JSON";

    [Theory]
    [InlineData(Good)]
    [InlineData($$"""{"sha1Hash":"{{Sha1}}","ntlmHash":"{{Ntlm}}","prevalence":15}""")]
    [InlineData($$"""{"sha1":"f4a69973e7b0bf9d160f9f60e3c3acd2494beb0d","ntlm":"fc525c9683e8fe067095ba2ddc971889","num":15}""")]
    [InlineData($$""" { "note": [{}, [1e9, null]], "num" : 15 , "ntlm" : "{{Ntlm}}", "sha1" : "{{Sha1}}", "SHA1": 5 } """)]
    [InlineData($$"""{"num":-1,"sha1":"","ntlm":null,"sha1":"{{Sha1}}","ntlmHash":"{{Ntlm}}","prevalence":15}""")]
    [InlineData($$"""{"\u0073ha1":"\u0046\u0034A69973E7B0BF9D160F9F60E3C3ACD2494BEB0D","ntlm":"{{Ntlm}}","num":15}""")]
    public void Items_are_read_in_every_accepted_spelling(string item)
    {
        foreach (var text in (string[])[$"[{item}]", $"\uFEFF [{item}]\r\n", $"[{item},{item}]"])
        {
            Assert.Null(AppendDocument.Read(Encoding.UTF8.GetBytes(text), out var document));
            Assert.Equal($"{Sha1}:15", HashText.Of(document.Sha1[0], HashMode.Sha1));
            Assert.Equal($"{Ntlm}:15", HashText.Of(document.Ntlm[^1], HashMode.Ntlm));
            Assert.Equal(document.Sha1.Count, document.Ntlm.Count);
        }
    }

    [Theory]
    [InlineData("Null PwnedPassword append entity at 2", $"[{Good},null]")]
    [InlineData(
        "Missing SHA-1 hash for item at index 1", "[{}]", $$"""[{"sha1":null,"ntlm":"{{Ntlm}}","num":1}]""",
        $$"""[{"Sha1":"{{Sha1}}","ntlm":"{{Ntlm}}","num":1}]""")]
    [InlineData(
        "The SHA-1 hash was not in a valid format for item at index 1", $$"""[{"sha1":"{{Ntlm}}"}]""", $$"""[{"sha1":"{{Sha1}} "}]""")]
    [InlineData(
        "The SHA-1 hash was not in a valid format for item at index 2",
        $$"""[{{Good}},{"sha1":"G4A69973E7B0BF9D160F9F60E3C3ACD2494BEB0D","num":0}]""")]
    [InlineData("Missing NTLM hash for item at index 1", $$"""[{"sha1":"{{Sha1}}"}]""")]
    [InlineData("The NTLM hash was not in a valid format for item at index 1", $$"""[{"sha1":"{{Sha1}}","ntlm":"{{Sha1}}"}]""")]
    [InlineData(
        "Missing or invalid prevalence value for item at index 1", $$"""[{"sha1":"{{Sha1}}","ntlm":"{{Ntlm}}"}]""",
        $$"""[{"sha1":"{{Sha1}}","ntlm":"{{Ntlm}}","num":0}]""", $$"""[{"sha1":"{{Sha1}}","ntlm":"{{Ntlm}}","num":1000001}]""",
        $$"""[{"sha1":"{{Sha1}}","ntlm":"{{Ntlm}}","num":99999999999999999999}]""",
        $$"""[{"sha1":"{{Sha1}}","ntlm":"{{Ntlm}}","num":1.5}]""", $$"""[{"sha1":"{{Sha1}}","ntlm":"{{Ntlm}}","num":null}]""")]
    public void The_first_invalid_item_is_reported_with_its_index(string message, params string[] texts) => Assert.All(texts, text =>
    {
        var error = AppendDocument.Read(Encoding.UTF8.GetBytes(text), out _)!;
        Assert.Equal((400, message), (error.StatusCode, error.Message));
    });

    public static TheoryData<string> InvalidJson =>
    [
        "", "null", "{}", "[", "[1]", "[[]]", $"[{Good}", $"[{Good},]", $"[{Good}] x", $"[{Good}][]", $"[{Good}] // nothing",
        $"/**/[{Good}]", $$"""[{"sha1":1}]""", """[{"ntlm":{}}]""", $$"""[{"num":"15"}]""", $$"""[{"sha1":"\ud800{{Sha1}}"}]""",
        $$"""[{'sha1':"{{Sha1}}"}]""",
    ];

    [Theory]
    [MemberData(nameof(InvalidJson))]
    public void Invalid_JSON_is_rejected_without_being_echoed(string text)
    {
        var error = AppendDocument.Read(Encoding.UTF8.GetBytes(text), out _)!;
        Assert.Equal(400, error.StatusCode);
        Assert.StartsWith("Unable to parse JSON: ", error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain(Sha1[..5], error.Message, StringComparison.Ordinal);
        Assert.All(error.Message, one => Assert.InRange(one, ' ', '~'));
    }

    [Fact]
    public void Deep_nesting_and_invalid_UTF8_are_rejected()
    {
        var deep = $$"""[{"x":{{new string('[', 10_000)}}{{new string(']', 10_000)}}}]""";
        Assert.StartsWith("Unable to parse JSON: ", Refusal(Encoding.UTF8.GetBytes(deep)), StringComparison.Ordinal);
        byte[] broken = [.. Encoding.UTF8.GetBytes($$"""[{"x":"y"""), 0xFF, .. Encoding.UTF8.GetBytes($"\",{Good[1..]}]")];
        Assert.Equal("Unable to parse JSON: it is not UTF-8", Refusal(broken));
        Assert.Equal("Unable to parse JSON: it is not UTF-8", Refusal(Encoding.Unicode.GetBytes($"[{Good}]ä")));
    }

    [Fact]
    public void MaxRows_items_are_accepted_and_one_more_gets_413()
    {
        var maximum = string.Join(',', Enumerable.Repeat(Good, AppendRows.MaxRows));
        Assert.Null(AppendDocument.Read(Encoding.UTF8.GetBytes($"[{maximum}]"), out var document));
        Assert.Equal((AppendRows.MaxRows, AppendRows.MaxRows), (document.Sha1.Count, document.Ntlm.Count));
        Assert.Equal(413, AppendDocument.Read(Encoding.UTF8.GetBytes($"[{maximum},null]"), out _)!.StatusCode);
        Assert.Null(AppendDocument.Read("[]"u8, out document));
        Assert.Empty(document.Sha1);
    }

    [Fact]
    public void Random_documents_match_the_reference_parser()
    {
        var seed = Environment.TickCount & 0xFFFFFF;
        output.WriteLine($"seed {seed}");
        var random = new Random(seed);
        var counts = new Dictionary<string, int>();
        for (var i = 0; i < FuzzedDocuments; i++)
        {
            var text = RandomDocument(random);
            var message = AppendDocument.Read(text, out var document)?.Message;
            var (expected, rows) = Expected(text);
            // In unparsable text, the item before the error may be invalid as well.
            var isAsExpected = expected == NotJson ? message is not null : message == expected;
            Assert.True(isAsExpected, $"'{expected}' and '{message}': {Encoding.Latin1.GetString(text)}");
            if (expected is null)
                Assert.Equal(
                    rows, document.Sha1.Zip(document.Ntlm, (sha1, ntlm) =>
                        $"{HashText.Of(sha1, HashMode.Sha1)} {HashText.Of(ntlm, HashMode.Ntlm)}"));
            var kind = expected is null ? Accepted : expected.TrimEnd('0', '1', '2', '3', '4', '5');
            counts[kind] = counts.GetValueOrDefault(kind) + 1;
        }
        output.WriteLine(string.Join('\n', counts.OrderBy(one => one.Key).Select(one => $"{one.Value} {one.Key}")));
        Assert.True(counts[Accepted] > FuzzedDocuments / 20 && counts[NotJson] > FuzzedDocuments / 20);
        Assert.Equal(Outcomes, counts.Count);
    }

    /// <summary>Parses with System.Text.Json's documents.</summary>
    /// <returns>
    /// The expected message, and the rows. Null if the document is accepted; <see cref="NotJson"/> if it isn't JSON of that form.
    /// </returns>
    private static (string? Message, IReadOnlyList<string> Rows) Expected(byte[] text)
    {
        var rows = new List<string>();
        try
        {
            var json = new UTF8Encoding(false, throwOnInvalidBytes: true).GetString(text).TrimStart('\uFEFF');
            using var document = JsonDocument.Parse(json);
            if (document.RootElement.ValueKind != JsonValueKind.Array)
                return (NotJson, rows);
            var item = 0;
            foreach (var element in document.RootElement.EnumerateArray())
            {
                item++;
                if (element.ValueKind == JsonValueKind.Null)
                    return ($"Null PwnedPassword append entity at {item}", rows);
                if (element.ValueKind != JsonValueKind.Object)
                    return (NotJson, rows);
                var (sha1, ntlm, count) = ("", "", 0L);
                foreach (var property in element.EnumerateObject())
                {
                    var value = property.Value;
                    if (property.NameEquals("num") || property.NameEquals("prevalence"))
                    {
                        if (value.ValueKind is not (JsonValueKind.Number or JsonValueKind.Null))
                            return (NotJson, rows);
                        count = value.ValueKind == JsonValueKind.Number && value.TryGetInt64(out var number) ? number : 0;
                    }
                    else if (property.NameEquals("sha1") || property.NameEquals("sha1Hash"))
                        sha1 = value.GetString() ?? "";
                    else if (property.NameEquals("ntlm") || property.NameEquals("ntlmHash"))
                        ntlm = value.GetString() ?? "";
                }
                var wrong = Wrong("SHA-1", sha1, 40) ?? Wrong("NTLM", ntlm, 32);
                if (wrong is not null)
                    return ($"{wrong} for item at index {item}", rows);
                if (count is < 1 or > 1_000_000)
                    return ($"Missing or invalid prevalence value for item at index {item}", rows);
                rows.Add($"{sha1.ToUpperInvariant()}:{count} {ntlm.ToUpperInvariant()}:{count}");
            }
            return (null, rows);
        }
        catch (Exception e) when (e is JsonException or InvalidOperationException or DecoderFallbackException)
        {
            return (NotJson, rows);
        }
    }

    private static string? Wrong(string mode, string hash, int digits) =>
        hash.Length == 0 ? $"Missing {mode} hash"
        : hash.Length != digits || !hash.All(char.IsAsciiHexDigit) ? $"The {mode} hash was not in a valid format" : null;

    private static byte[] RandomDocument(Random random)
    {
        var text = new StringBuilder(random.Next(9) == 0 ? "\uFEFF" : "").Append('[');
        for (var item = random.Next(5); item > 0; item--)
            text.Append(random.Next(30) == 0 ? Pick("null", "1", "[]", "\"x\"", "{}") : Item()).Append(item > 1 ? "," : "");
        text.Append(random.Next(60) == 0 ? "" : "]").Append(random.Next(60) == 0 ? Pick("x", "]", "null", "//") : Pick("", " ", "\r\n"));
        var bytes = Encoding.UTF8.GetBytes(text.ToString()).ToList();
        // Corrupts up to three bytes in one document out of four.
        for (var noise = random.Next(4) == 0 ? random.Next(1, 4) : 0; noise > 0 && bytes.Count > 0; noise--)
        {
            var at = random.Next(bytes.Count);
            if (random.Next(2) == 0)
                bytes.RemoveAt(at);
            else
                bytes[at] = (byte)random.Next(256);
        }
        return [.. bytes];

        string Item()
        {
            var properties = new List<string>
            {
                $"\"{Pick("sha1", "sha1", "sha1", "sha1Hash", "SHA1", "\\u0073ha1")}\":{Hex(40)}",
                $"\"{Pick("ntlm", "ntlm", "ntlm", "ntlmHash", "nt lm")}\":{Hex(32)}",
                $"\"{Pick("num", "num", "num", "prevalence")}\":{Number()}",
            };
            if (random.Next(8) == 0)
                properties.RemoveAt(random.Next(properties.Count));
            if (random.Next(8) == 0)
                properties.Add(Pick(
                    "\"x\":[[],{\"sha1\":1}]", "\"num\":7", $"\"sha1\":{Hex(40)}", "\"\":null", "\"ü\":\"\\ud83d\\ude00\""));
            var ordered = properties.ToArray();
            random.Shuffle(ordered);
            return $"{{{string.Join(',', ordered)}}}";
        }

        string Hex(int digits)
        {
            var hash = random.GetHexString(random.Next(20) == 0 ? random.Next(60) : digits, lowercase: random.Next(2) == 0);
            return random.Next(20) == 0 ? Pick("null", "5", "\"\"", "true", "\"\\ud800\"", $"\"{hash}g\"", $"\" {hash}\"")
                : random.Next(20) == 0 ? $"\"{string.Concat(hash.Select(digit => $"\\u{(int)digit:x4}"))}\"" : $"\"{hash}\"";
        }

        string Number() => random.Next(10) == 0
            ? Pick("0", "-1", "1000000", "1000001", "1e3", "1.5", "null", "\"5\"", "[]", "9223372036854775808", "01")
            : random.Next(1, 1_000).ToString(CultureInfo.InvariantCulture);

        string Pick(params string[] all) => all[random.Next(all.Length)];
    }

    private static string Refusal(byte[] text) => AppendDocument.Read(text, out _)?.Message ?? "";
}
