using System.Text;
using System.Text.RegularExpressions;

namespace HibpIngest.Testing;

/// <summary>
/// A strict reader of mails, written from the RFCs and apart from what writes them: whatever it does not expect
/// is an error.
/// </summary>
internal sealed partial class MimeMessage
{
    private readonly List<(string Name, string Value)> _headers = [];

    public List<MimeMessage> Parts { get; } = [];

    /// <summary>The decoded body of a part that has no parts.</summary>
    public byte[] Body { get; private set; } = [];

    public string Text => new UTF8Encoding(encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true).GetString(Body);

    public string Type => Header("Content-Type").Split(';')[0];

    public IReadOnlyList<MimeMessage> Leaves => Parts.Count == 0 ? [this] : [.. Parts.SelectMany(part => part.Leaves)];

    public static MimeMessage Parse(ReadOnlyMemory<byte> message)
    {
        var bytes = message.ToArray();
        for (var i = 0; i < bytes.Length; i++)
        {
            if (bytes[i] is 0 or > 126 || bytes[i] == '\r' && (i + 1 == bytes.Length || bytes[i + 1] != '\n') || bytes[i] == '\n'
                && (i == 0 || bytes[i - 1] != '\r'))
                throw new InvalidDataException($"byte {bytes[i]} at {i}");
        }
        var lines = Encoding.ASCII.GetString(bytes).Split("\r\n");
        if (lines[^1].Length > 0)
            throw new InvalidDataException("the last line has no end");
        foreach (var line in lines.Where(
                line => line.Length > 76 && !line.StartsWith(" boundary=", StringComparison.Ordinal)
                && !line.StartsWith("--", StringComparison.Ordinal)))
            throw new InvalidDataException($"a line of {line.Length} characters: {line}");
        return Parse(lines[..^1], isMessage: true);
    }

    /// <summary>The one header of that name, unfolded.</summary>
    public string Header(string name)
    {
        var found = _headers.Where(header => header.Name.Equals(name, StringComparison.OrdinalIgnoreCase)).ToList();
        return found.Count == 1 ? found[0].Value : throw new InvalidDataException($"{found.Count} headers {name}");
    }

    /// <summary>Decodes RFC 2047 words; white space between two of them is none.</summary>
    public static string DecodeWords(string value) => Word().Replace(Between().Replace(value, "?="), match =>
    {
        if (match.Length > 75)
            throw new InvalidDataException("an encoded word of more than 75 characters");
        return new UTF8Encoding(encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true).GetString(
            Convert.FromBase64String(match.Groups["text"].Value));
    });

    private static MimeMessage Parse(string[] lines, bool isMessage)
    {
        var message = new MimeMessage();
        var at = 0;
        for (; at < lines.Length && lines[at].Length > 0; at++)
        {
            if (lines[at][0] is ' ' or '\t')
            {
                if (message._headers.Count == 0 || lines[at].Trim().Length == 0)
                    throw new InvalidDataException("a continuation of nothing");
                var (name, value) = message._headers[^1];
                message._headers[^1] = (name, $"{value} {lines[at].Trim()}");
                continue;
            }
            var match = HeaderLine().Match(lines[at]);
            if (!match.Success)
                throw new InvalidDataException($"no header: {lines[at]}");
            message._headers.Add((match.Groups["name"].Value, match.Groups["value"].Value));
        }
        if (isMessage)
            _ = message.Header("From") + message.Header("To") + message.Header("Date") + message.Header("Message-ID")
            + message.Header("Subject");
        if (at == lines.Length)
            throw new InvalidDataException("no body");
        message.ReadBody(lines[(at + 1)..]);
        return message;
    }

    private void ReadBody(string[] lines)
    {
        if (Type.StartsWith("multipart/", StringComparison.Ordinal))
        {
            var boundary = "--" + Boundary().Match(Header("Content-Type")).Groups["text"].Value;
            if (boundary.Length is < 3 or > 72)
                throw new InvalidDataException("a boundary has 1 to 70 characters");
            var starts = Enumerable.Range(0, lines.Length).Where(i => lines[i] == boundary).ToList();
            var end = Array.IndexOf(lines, boundary + "--");
            if (starts.Count == 0 || starts[0] != 0 || end < starts[^1] || lines[(end + 1)..].Any(line => line.Length > 0))
                throw new InvalidDataException("boundaries in no order");
            for (var i = 0; i < starts.Count; i++)
                Parts.Add(Parse(lines[(starts[i] + 1)..(i + 1 < starts.Count ? starts[i + 1] : end)], isMessage: false));
            return;
        }
        Body = Header("Content-Transfer-Encoding") switch
        {
            "base64" => Convert.FromBase64String(string.Concat(lines)),
            "quoted-printable" => Unquote(lines),
            var other => throw new InvalidDataException(other),
        };
    }

    private static byte[] Unquote(string[] lines)
    {
        var bytes = new List<byte>();
        foreach (var line in lines)
        {
            if (line.EndsWith(' ') || line.EndsWith('\t'))
                throw new InvalidDataException("white space at a line's end");
            for (var i = 0; i < line.Length; i++)
            {
                if (line[i] != '=')
                    bytes.Add((byte)line[i]);
                else if (i < line.Length - 1)
                {
                    bytes.Add(Convert.FromHexString(line.AsSpan(i + 1, 2))[0]);
                    i += 2;
                }
            }
            if (!line.EndsWith('='))
                bytes.AddRange("\r\n"u8);
        }
        return [.. bytes];
    }

    [GeneratedRegex(@"^(?<name>[!-9;-~]+): (?<value>.*)$", RegexOptions.None, 1000)]
    private static partial Regex HeaderLine();

    [GeneratedRegex("boundary=\"(?<text>[^\"]+)\"", RegexOptions.None, 1000)]
    private static partial Regex Boundary();

    [GeneratedRegex(@"=\?utf-8\?B\?(?<text>[A-Za-z0-9+/=]*)\?=", RegexOptions.None, 1000)]
    private static partial Regex Word();

    [GeneratedRegex(@"\?=\s+(?==\?)", RegexOptions.None, 1000)]
    private static partial Regex Between();
}
