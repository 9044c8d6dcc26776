using MimeKit;

namespace HibpIngest.Testing;

/// <summary>
/// Reads mails with MimeKit, and checks what MimeKit forgives: 7-bit characters, CRLF, lines of at most 78
/// characters (RFC 5322), 76 with an encoded word (RFC 2047), encoded words of at most 75, and each header once.
/// Words in Q encoding may be longer: MimeKit counts one character each for = ? _ and punctuation, which take three.
/// RFC 2047 allows 75; mail programs read longer ones, and only a title made of such characters has them. RFC 5322's
/// limit of 998 per line is kept.
/// </summary>
internal static partial class MailReader
{
    private static readonly UTF8Encoding Utf8 = new(encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true);

    public static MimeMessage Read(ReadOnlyMemory<byte> mail)
    {
        var bytes = mail.ToArray();
        for (var i = 0; i < bytes.Length; i++)
        {
            if (bytes[i] is 0 or > 126 || bytes[i] == '\r' && (i + 1 == bytes.Length || bytes[i + 1] != '\n') || bytes[i] == '\n'
                && (i == 0 || bytes[i - 1] != '\r'))
                throw new InvalidDataException($"byte {bytes[i]} at {i}");
        }
        var lines = Encoding.ASCII.GetString(bytes).Split("\r\n");
        if (lines[^1].Length > 0)
            throw new InvalidDataException("the last line has no end");
        if (lines.FirstOrDefault(IsTooLong) is { } line)
            throw new InvalidDataException($"a line of {line.Length} characters: {line}");
        if (lines.SelectMany(one => Base64Word().Matches(one)).FirstOrDefault(word => word.Length > 75) is { } found)
            throw new InvalidDataException($"an encoded word of {found.Length} characters");
        var message = MimeMessage.Load(new MemoryStream(bytes));
        foreach (var name in new[] { "From", "To", "Date", "Message-ID", "Subject", "MIME-Version" })
            _ = message.Header(name);
        return message;
    }

    extension(MimeMessage message)
    {
        public string Type => message.Body!.ContentType.MimeType;

        public IReadOnlyList<MimeEntity> Parts => message.Body!.Parts;

        public IReadOnlyList<MimeEntity> Leaves => [.. message.BodyParts];

        public string Header(string name) => One(message.Headers, name);
    }

    extension(MimeEntity entity)
    {
        public string Type => entity.ContentType.MimeType;

        public IReadOnlyList<MimeEntity> Parts => [.. (Multipart)entity];

        /// <summary>The decoded content, which must be UTF-8.</summary>
        public string Text
        {
            get
            {
                using var content = new MemoryStream();
                ((MimePart)entity).Content!.DecodeTo(content);
                return Utf8.GetString(content.ToArray());
            }
        }

        public string Header(string name) => One(entity.Headers, name);
    }

    private static bool IsTooLong(string line)
    {
        // Boundaries and the header that names them can't be folded.
        if (line.StartsWith("--", StringComparison.Ordinal) || line.Contains("boundary=\"", StringComparison.Ordinal))
            return false;
        return line.Length > (line.Contains("=?utf-8?q?", StringComparison.Ordinal) ? 230
            : line.Contains("=?", StringComparison.Ordinal) ? 76 : 78);
    }

    private static string One(HeaderList headers, string name)
    {
        var found = headers.Where(header => header.Field.Equals(name, StringComparison.OrdinalIgnoreCase)).ToList();
        return found.Count == 1 ? found[0].Value : throw new InvalidDataException($"{found.Count} headers {name}");
    }

    [GeneratedRegex(@"=\?[^?\s]+\?[Bb]\?[^?\s]*\?=", RegexOptions.None, 60_000)]
    private static partial Regex Base64Word();
}
