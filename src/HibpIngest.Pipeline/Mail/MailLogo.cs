namespace HibpIngest.Pipeline.Mail;

/// <param name="Type">image/png, image/jpeg or image/gif: the types that mail programs show.</param>
internal sealed record MailLogo(string Type, byte[] Content)
{
    public const string ContentId = "logo@hibp";

    // Every mail carries these bytes.
    private const int MaxBytes = 100 * 1024;

    public static MailLogo Read(string path)
    {
        try
        {
            var file = new FileInfo(path);
            if (file.Exists && file.Length > MaxBytes)
                throw new BadInputException($"HIBP_SERVICE_LOGO has {file.Length:N0} bytes; each mail carries it: at most {MaxBytes:N0}");
            var content = File.ReadAllBytes(path);
            var type = content.AsSpan() switch
            {
                [0x89, (byte)'P', (byte)'N', (byte)'G', ..] => "image/png",
                [0xFF, 0xD8, 0xFF, ..] => "image/jpeg",
                [(byte)'G', (byte)'I', (byte)'F', (byte)'8', ..] => "image/gif",
                _ => throw new BadInputException("HIBP_SERVICE_LOGO: expected a PNG, JPEG or GIF, found a file of another format"),
            };
            return new MailLogo(type, content);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new BadInputException($"HIBP_SERVICE_LOGO '{path}' can't be read: {e.Message}");
        }
    }
}
