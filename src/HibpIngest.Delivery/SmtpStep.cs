namespace HibpIngest.Delivery;

/// <summary>A step of the SMTP dialogue that waits for the server.</summary>
/// <param name="Name">Names the step in errors about a missing or wrong reply.</param>
/// <param name="Refused">Names in errors what a negative reply refuses.</param>
/// <param name="Intermediate">The expected reply that asks for more, in addition to 2xx; 0: none.</param>
/// <param name="IsMail">Whether a refusal concerns only this mail, not the server's configuration.</param>
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
