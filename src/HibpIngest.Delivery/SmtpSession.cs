using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using MailKit;
using MailKit.Net.Smtp;
using MailKit.Security;
using MimeKit;

namespace HibpIngest.Delivery;

/// <summary>
/// One connection to a mail server, opened, encrypted and logged in: MailKit's client with this project's timeouts and exception types.
/// After an exception other than <see cref="BadInputException"/> and <see cref="RecipientDeferredException"/> the session must not be
/// reused. Not safe for concurrent use.
/// </summary>
internal sealed class SmtpSession : SmtpClient
{
    private readonly SmtpServer _server;
    private readonly TimeProvider _time;
    private readonly SmtpConversation _conversation;

    private SmtpSession(SmtpServer server, TimeProvider time, SmtpConversation conversation)
        : base(conversation)
    {
        (_server, _time, _conversation) = (server, time, conversation);
        CheckCertificateRevocation = false;
    }

    public long LastUse => _conversation.LastUse;

    public int MailsAttempted { get; private set; }

    public static async Task<SmtpSession> OpenAsync(SmtpServer server, TimeProvider time, CancellationToken cancellationToken)
    {
        var session = new SmtpSession(server, time, new SmtpConversation(server, time));
        try
        {
            await session.RunAsync(SmtpStep.Connection, session.ConnectAsync, cancellationToken);
            if (server.User is not null)
                await session.RunAsync(
                    SmtpStep.Login, step => session.AuthenticateAsync(session.Login(server.User, server.Password ?? ""), step),
                    cancellationToken);
            return session;
        }
        catch
        {
            session.Dispose();
            throw;
        }
    }

    /// <summary>Returns whether the server still responds; resets the state that a refused mail left.</summary>
    public async Task<bool> ResetAsync(CancellationToken cancellationToken)
    {
        try
        {
            return IsConnected && (int)(await CommandAsync(SmtpStep.Reset, "RSET", cancellationToken)).StatusCode is >= 200 and < 300;
        }
        catch (UnavailableException)
        {
            return false;
        }
    }

    /// <summary>Sends one mail, byte for byte as composed.</summary>
    /// <exception cref="BadInputException">The server permanently refused this recipient or this message.</exception>
    /// <exception cref="RecipientDeferredException">The server temporarily refused this recipient or this message.</exception>
    public async Task SendAsync(OutgoingMail mail, CancellationToken cancellationToken)
    {
        MailsAttempted++;
        if (MaxSize > 0 && mail.Content.Length > MaxSize)
            throw new BadInputException(
                $"the mail has {mail.Content.Length} bytes; mail server {_server} accepts at most {MaxSize}");
        using var message = MimeMessage.Load(new MemoryStream(mail.Content.ToArray()), persistent: true, cancellationToken);
        var (from, to) = (new MailboxAddress(null, mail.From), new MailboxAddress(null, mail.To));
        await RunAsync(SmtpStep.Sender, step => SendAsync(message, from, to, step), cancellationToken);
    }

    /// <exception cref="StoreRefusedException">The server refuses the sender.</exception>
    public async Task CheckSenderAsync(string from, CancellationToken cancellationToken)
    {
        await CommandAsync(SmtpStep.Sender, $"MAIL FROM:<{from}>", cancellationToken);
        if (_conversation.Refusal is { } refusal)
            throw refusal.ToException(_server);
    }

    public async Task QuitAsync()
    {
        using var limit = new CancellationTokenSource(TimeSpan.FromSeconds(1), _time);
        try
        {
            await RunAsync(SmtpStep.Quit, step => DisconnectAsync(quit: true, step), limit.Token);
        }
        catch (Exception e) when (e is HibpException or OperationCanceledException)
        {
            // QUIT is only a courtesy: the outcome of the mails is known.
        }
        Dispose();
    }

    /// <summary>Does nothing: a signed mail must not change.</summary>
    protected override void Prepare(FormatOptions options, MimeMessage message, EncodingConstraint constraint, int maxLineLength)
    {
    }

    protected override SslClientAuthenticationOptions GetSslClientAuthenticationOptions(
        string host, RemoteCertificateValidationCallback remoteCertificateValidationCallback)
    {
        var options = base.GetSslClientAuthenticationOptions(host, remoteCertificateValidationCallback);
        if (_server.TrustedRoots is { } roots)
        {
            options.CertificateChainPolicy =
                new X509ChainPolicy { TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck };
            options.CertificateChainPolicy.CustomTrustStore.AddRange(roots);
        }
        return options;
    }

    private async Task ConnectAsync(CancellationToken cancellationToken)
    {
        // NoDelay: with Nagle's algorithm a mail takes 72 ms.
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            await socket.ConnectAsync(_server.Host, _server.Port, cancellationToken);
            // EHLO names our IP address (MailKit adds the brackets). The default would disclose the machine's name.
            LocalDomain = new IPAddress(((IPEndPoint)socket.LocalEndPoint!).Address.GetAddressBytes()).ToString();
            var tls = _server.Tls switch
            {
                SmtpTls.Implicit => SecureSocketOptions.SslOnConnect,
                SmtpTls.StartTls => SecureSocketOptions.StartTls,
                _ => SecureSocketOptions.None,
            };
            if (_server.Tls == SmtpTls.Implicit)
                _conversation.Await(SmtpStep.Handshake);
            await ConnectAsync(socket, _server.Host, _server.Port, tls, cancellationToken);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private async Task SendAsync(MimeMessage message, MailboxAddress from, MailboxAddress to, CancellationToken cancellationToken)
    {
        try
        {
            await SendAsync(FormatOptions.Default, message, from, [to], cancellationToken, _conversation);
        }
        catch (SmtpCommandException e)
            when (e.ErrorCode == SmtpErrorCode.MessageNotAccepted && (int)e.StatusCode is >= 200 and < 300)
        {
            // MailKit accepts only 250, but any 2xx means that the server has accepted the mail.
        }
    }

    private SaslMechanism Login(string user, string password) =>
        AuthenticationMechanisms.Contains("PLAIN", StringComparer.OrdinalIgnoreCase) ? new SaslMechanismPlain(user, password)
        : AuthenticationMechanisms.Contains("LOGIN", StringComparer.OrdinalIgnoreCase) ? new SaslMechanismLogin(user, password)
        : throw new StoreRefusedException($"mail server {_server} offers no supported login mechanism (PLAIN or LOGIN)"
            + (_server.Tls == SmtpTls.None ? "; many servers offer them only over TLS: set tls=starttls in HIBP_MAIL" : ""));

    private async Task<SmtpResponse> CommandAsync(SmtpStep step, string command, CancellationToken cancellationToken)
    {
        SmtpResponse? response = null;
        await RunAsync(step, async token => response = await SendCommandAsync(command, token), cancellationToken);
        return response!;
    }

    /// <summary>MailKit's exception messages contain the server's text, and with it addresses: none of them is passed on.</summary>
    private async Task RunAsync(SmtpStep first, Func<CancellationToken, Task> work, CancellationToken cancellationToken)
    {
        using var operation = new CancellationTokenSource(System.Threading.Timeout.InfiniteTimeSpan, _time);
        _conversation.Begin(operation, first);
        await using var registration = cancellationToken.Register(_conversation.Cancel);
        try
        {
            await work(operation.Token);
        }
        catch (Exception e) when (e is not HibpException)
        {
            throw Failed(e, operation.IsCancellationRequested, cancellationToken);
        }
    }

    private Exception Failed(Exception e, bool isCancelled, CancellationToken cancellationToken)
    {
        var step = _conversation.Step;
        if (_conversation.Refusal is { } refusal)
            return refusal.ToException(_server);
        if (isCancelled)
        {
            return cancellationToken.IsCancellationRequested ? new OperationCanceledException(cancellationToken)
                : new UnavailableException(
                    $"mail server {_server} did not respond to {step.Name} within {_conversation.Limit.TotalSeconds:0.###} s");
        }
        var cause = e is SslHandshakeException ? e.InnerException : e;
        return cause switch
        {
            System.Security.Authentication.AuthenticationException => new StoreRefusedException(
                $"can't open a TLS connection to mail server {_server}: its certificate is untrusted or for another name, or the port "
                + "doesn't use TLS; check host, port and tls in HIBP_MAIL", cause),
            IOException or SocketException => new UnavailableException(
                $"the connection to mail server {_server} failed at {step.Name}"
                + ((cause as SocketException ?? cause.InnerException as SocketException)?.SocketErrorCode is { } code ? $": {code}" : ""),
                cause),
            SmtpProtocolException => new UnavailableException($"mail server {_server} dropped the connection at {step.Name}"),
            NotSupportedException when _server.Tls == SmtpTls.StartTls => new StoreRefusedException(
                $"mail server {_server} does not support STARTTLS; set tls=implicit in HIBP_MAIL (or tls=none to send unencrypted)"),
            CommandException or AuthenticationException =>
                new UnavailableException($"mail server {_server} temporarily refuses {step.Refused}"),
            _ => e,
        };
    }
}
