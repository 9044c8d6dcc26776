namespace HibpIngest.Delivery;

/// <summary>What a mail server answered. Its text may hold an address, so nothing of it but codes is ever shown.</summary>
/// <param name="Code">200 to 599.</param>
/// <param name="Lines">The text of each line, after the code.</param>
internal sealed record SmtpReply(int Code, IReadOnlyList<string> Lines)
{
    public bool IsPositive => Code is >= 200 and < 300;

    public bool IsPermanent => Code >= 500;

    /// <summary>"550 5.1.1": the code, and the enhanced status code (RFC 3463) where there is one.</summary>
    public string Codes
    {
        get
        {
            var text = Lines.Count == 0 ? "" : Lines[^1];
            var end = text.IndexOf(' ');
            var enhanced = end < 0 ? text : text[..end];
            var parts = enhanced.Split('.');
            var isEnhanced = parts.Length == 3 && parts[0] is "2" or "4" or "5"
                && parts.All(part => part.Length is >= 1 and <= 3 && part.All(char.IsAsciiDigit));
            return isEnhanced ? $"{Code} {enhanced}" : $"{Code}";
        }
    }

    public override string ToString() => Codes;
}
