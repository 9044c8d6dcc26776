namespace HibpIngest.Delivery;

/// <summary>What a mail server may be waited for.</summary>
/// <param name="Name">In messages about no answer, or a wrong one.</param>
/// <param name="Refused">What the server doesn't take if it says no.</param>
/// <param name="Intermediate">The reply that asks for more, besides the positive ones (2xx).</param>
/// <param name="IsMail">Whether a refusal is that of one mail.</param>
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
        ?? throw new InvalidOperationException("a command that nobody sends");
}
