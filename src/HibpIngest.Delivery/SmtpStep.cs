namespace HibpIngest.Delivery;

/// <param name="Name">Names the step in errors about a missing or wrong reply.</param>
/// <param name="Refused">Name, in errors, of what a negative reply refuses.</param>
/// <param name="Intermediate">The expected reply that asks for more, in addition to 2xx; 0 if none.</param>
/// <param name="IsMail">True if a refusal concerns only this mail, not the server's configuration.</param>
internal sealed record SmtpStep(string Name, string Refused, int Intermediate = 0, bool IsMail = false)
{
    public static readonly SmtpStep Connection = new("the connection", "the connection");
    public static readonly SmtpStep Greeting = new("the greeting", "the connection");
    public static readonly SmtpStep Ehlo = new("EHLO", "EHLO");
    public static readonly SmtpStep StartTls = new("STARTTLS", "STARTTLS");
    public static readonly SmtpStep Handshake = new("the TLS handshake", "the TLS handshake");
    public static readonly SmtpStep Login = new("AUTH", "the login", 334);
    public static readonly SmtpStep Sender = new("MAIL FROM", "the sender (HIBP_MAIL_FROM)");
    public static readonly SmtpStep Recipient = new("RCPT TO", "the recipient", IsMail: true);
    public static readonly SmtpStep Data = new("DATA", "the message", 354, IsMail: true);
    public static readonly SmtpStep Message = new("the message", "the message", IsMail: true);
    public static readonly SmtpStep Reset = new("RSET", "RSET");
    public static readonly SmtpStep Quit = new("QUIT", "QUIT");

    private static readonly SmtpStep[] Commands = [Ehlo, StartTls, Login, Sender, Recipient, Data, Reset, Quit];

    public static SmtpStep Of(string command) => Array.Find(Commands, step => command.StartsWith(step.Name, StringComparison.Ordinal))
        ?? throw new InvalidOperationException("the command is never sent");
}

/// <param name="Code">200 to 599.</param>
/// <param name="Codes">The code, and the enhanced status code (RFC 3463) if there is one: "550 5.1.1".</param>
internal sealed record SmtpRefusal(SmtpStep Step, int Code, string Codes)
{
    public HibpException ToException(SmtpServer server) => Code switch
    {
        >= 400 and < 500 when Step.IsMail =>
            new RecipientDeferredException($"mail server {server} temporarily refuses {Step.Refused}: {Codes}"),
        < 500 => new UnavailableException($"mail server {server} temporarily refuses {Step.Refused}: {Codes}"),
        // Unknown command, wrong order, login required: at no step caused by the recipient.
        500 or 502 or 503 or 504 or 530 or 534 or 535 or 538 => SetUp(server),
        _ when !Step.IsMail => SetUp(server),
        _ when Step == SmtpStep.Recipient && IsUnknown => new RecipientUnknownException(Permanently(server)),
        _ => new BadInputException(Permanently(server)),
    };

    // RFC 3463: bad mailbox, bad system, bad syntax, moved, disabled; RFC 7505: the domain takes no mail.
    private bool IsUnknown => Codes.Split(' ') is [_, "5.1.1" or "5.1.2" or "5.1.3" or "5.1.6" or "5.2.1" or "5.1.10"];

    /// <summary>Returns the codes of a reply's last line, without its text.</summary>
    public static string CodesOf(string line)
    {
        var enhanced = line.Length > 4 ? line[4..].Split(' ')[0] : "";
        var parts = enhanced.Split('.');
        var isEnhanced = parts.Length == 3 && parts[0] is "2" or "4" or "5"
            && parts.All(part => part.Length is >= 1 and <= 3 && part.All(char.IsAsciiDigit));
        return isEnhanced ? $"{line[..3]} {enhanced}" : line[..3];
    }

    private string Permanently(SmtpServer server) => $"mail server {server} permanently refused {Step.Refused}: {Codes}";

    private StoreRefusedException SetUp(SmtpServer server) =>
        new($"mail server {server} refused {Step.Refused}: {Codes}; check HIBP_MAIL and HIBP_MAIL_FROM");
}
