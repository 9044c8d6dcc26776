using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Delivery;

/// <summary>
/// One connection to a mail server, opened, encrypted and logged in: the client's side of RFC 5321, 3207 and
/// 4954, one command at a time. After an exception other than <see cref="BadInputException"/> and
/// <see cref="RecipientDeferredException"/> it is not to be used again. Not safe for use by several threads at
/// once.
/// </summary>
internal sealed class SmtpConnection : IAsyncDisposable
{
    // RFC 5321 allows 512 bytes a line and knows no reply of more than some lines; a server that goes far beyond isn't one.
    private const int MaxReplyLine = 4096;
    private const int MaxReplyLines = 100;

    private readonly SmtpServer _server;
    private readonly TimeProvider _time;
    private readonly Socket _socket;
    private readonly byte[] _received = new byte[MaxReplyLine];
    private Stream _stream;
    private int _start;
    private int _end;
    private long _sizeLimit;
    private string[] _logins = [];
    private bool _startTls;

    private SmtpConnection(SmtpServer server, TimeProvider time, Socket socket)
    {
        _server = server;
        _time = time;
        _socket = socket;
        _stream = new NetworkStream(socket, ownsSocket: true);
        LastUse = time.GetTimestamp();
    }

    /// <summary>Timestamp of the last answer.</summary>
    public long LastUse { get; private set; }

    /// <summary>Mails tried over it.</summary>
    public int Mails { get; private set; }

    /// <summary>Connects, encrypts, logs in.</summary>
    public static async Task<SmtpConnection> OpenAsync(SmtpServer server, TimeProvider time, CancellationToken cancellationToken)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        SmtpConnection? connection = null;
        try
        {
            await StepAsync(
                server, time, "the connection", server.CommandTimeout,
                async step => await socket.ConnectAsync(server.Host, server.Port, step), cancellationToken);
            connection = new SmtpConnection(server, time, socket);
            await connection.GreetAsync(cancellationToken);
            return connection;
        }
        catch
        {
            socket.Dispose();
            if (connection is not null)
                await connection.DisposeAsync();
            throw;
        }
    }

    /// <summary>Whether the server still answers; takes back what a refused mail left open.</summary>
    public async Task<bool> ResetAsync(CancellationToken cancellationToken)
    {
        try
        {
            return (await CommandAsync("RSET", "RSET", cancellationToken)).IsPositive;
        }
        catch (StoreUnavailableException)
        {
            return false;
        }
    }

    /// <summary>Sends one mail.</summary>
    /// <exception cref="BadInputException">The server refused this recipient or this message for good; the
    /// connection is good for another mail after <see cref="ResetAsync"/>.</exception>
    /// <exception cref="RecipientDeferredException">The same, but not for good.</exception>
    public async Task SendAsync(OutgoingMail mail, CancellationToken cancellationToken)
    {
        Mails++;
        if (_sizeLimit > 0 && mail.Content.Length > _sizeLimit)
            throw new BadInputException(
                $"the mail has {mail.Content.Length} bytes, and the mail server {_server} takes at most {_sizeLimit}");

        await BeginMailAsync(mail.From, cancellationToken);
        var reply = await CommandAsync($"RCPT TO:<{mail.To}>", "RCPT TO", cancellationToken);
        if (!reply.IsPositive)
            throw Refused("the recipient", reply, isRecipients: true);
        reply = await CommandAsync("DATA", "DATA", cancellationToken);
        if (reply.Code != 354)
            throw Refused("the message", reply, isRecipients: true);

        await StepAsync(
            _server, _time, "the message", _server.MessageTimeout, step => WriteMessageAsync(mail.Content, step), cancellationToken);
        reply = await EndMessageAsync(mail.Content.Span.EndsWith("\r\n"u8) ? ".\r\n" : "\r\n.\r\n", cancellationToken);
        if (!reply.IsPositive)
            throw Refused("the message", reply, isRecipients: true);
    }

    /// <summary>Names the sender of a mail.</summary>
    /// <exception cref="StoreRefusedException">The server doesn't take it.</exception>
    public async Task BeginMailAsync(string from, CancellationToken cancellationToken)
    {
        var reply = await CommandAsync($"MAIL FROM:<{from}>", "MAIL FROM", cancellationToken);
        if (!reply.IsPositive)
            throw Refused("the sender (HIBP_MAIL_FROM)", reply, isRecipients: false);
    }

    /// <summary>Says goodbye and does not wait for the answer.</summary>
    public async ValueTask QuitAsync()
    {
        try
        {
            await StepAsync(
                _server, _time, "QUIT", TimeSpan.FromSeconds(1), async step => await _stream.WriteAsync("QUIT\r\n"u8.ToArray(), step),
                CancellationToken.None);
        }
        catch (HibpException)
        {
            // Politeness only: the mail's fate is known.
        }
        await DisposeAsync();
    }

    public ValueTask DisposeAsync() => _stream.DisposeAsync();

    private async Task GreetAsync(CancellationToken cancellationToken)
    {
        if (_server.Tls == SmtpTls.Implicit)
            await EncryptAsync(cancellationToken);
        var reply = await ReadAsync("the greeting", _server.CommandTimeout, cancellationToken);
        if (!reply.IsPositive)
            throw Refused("the connection", reply, isRecipients: false);
        await HelloAsync(cancellationToken);
        if (_server.Tls == SmtpTls.StartTls)
        {
            if (!_startTls)
                throw new StoreRefusedException($"the mail server {_server} offers no STARTTLS; set tls=implicit or, if mails may go "
                    + "unencrypted, tls=none in HIBP_MAIL");
            reply = await CommandAsync("STARTTLS", "STARTTLS", cancellationToken);
            if (!reply.IsPositive)
                throw Refused("STARTTLS", reply, isRecipients: false);
            // What came before the handshake was not encrypted and could be anybody's.
            if (_start < _end)
                throw new StoreRefusedException($"the mail server {_server} went on speaking unencrypted after STARTTLS; somebody may be "
                    + "interfering with the connection");
            await EncryptAsync(cancellationToken);
            await HelloAsync(cancellationToken);
        }
        if (_server.User is not null)
            await LogInAsync(_server.User, _server.Password ?? "", cancellationToken);
    }

    private async Task HelloAsync(CancellationToken cancellationToken)
    {
        var local = ((IPEndPoint)_socket.LocalEndPoint!).Address;
        if (local.IsIPv4MappedToIPv6)
            local = local.MapToIPv4();
        var name = local.AddressFamily == AddressFamily.InterNetworkV6 ? $"[IPv6:{new IPAddress(local.GetAddressBytes())}]" : $"[{local}]";
        var reply = await CommandAsync($"EHLO {name}", "EHLO", cancellationToken);
        if (!reply.IsPositive)
            throw Refused("EHLO", reply, isRecipients: false);
        _startTls = false;
        _sizeLimit = 0;
        _logins = [];
        foreach (var line in reply.Lines.Skip(1))
        {
            var words = line.ToUpperInvariant().Split([' ', '='], StringSplitOptions.RemoveEmptyEntries);
            switch (words)
            {
                case ["STARTTLS", ..]: _startTls = true; break;
                case ["SIZE", var size, ..]: _ = long.TryParse(size, out _sizeLimit); break;
                case ["AUTH", ..]: _logins = [.. _logins, .. words.Skip(1)]; break;
            }
        }
    }

    private async Task LogInAsync(string user, string password, CancellationToken cancellationToken)
    {
        SmtpReply reply;
        if (_logins.Contains("PLAIN"))
        {
            reply = await CommandAsync($"AUTH PLAIN {Base64($"\0{user}\0{password}")}", "AUTH", cancellationToken);
        }
        else if (_logins.Contains("LOGIN"))
        {
            reply = await CommandAsync("AUTH LOGIN", "AUTH", cancellationToken);
            if (reply.Code == 334)
                reply = await CommandAsync(Base64(user), "AUTH", cancellationToken);
            if (reply.Code == 334)
                reply = await CommandAsync(Base64(password), "AUTH", cancellationToken);
        }
        else
        {
            throw new StoreRefusedException($"the mail server {_server} offers no login that we know (PLAIN, "
                + $"LOGIN){(_server.Tls == SmtpTls.None ? "; many offer it over TLS only" : "")}");
        }
        if (!reply.IsPositive)
            throw Refused("the login", reply, isRecipients: false);
    }

    private async Task EncryptAsync(CancellationToken cancellationToken)
    {
        var tls = new SslStream(_stream, leaveInnerStreamOpen: false);
        _stream = tls;
        var options = new SslClientAuthenticationOptions { TargetHost = _server.Host };
        if (_server.TrustedRoots is { } roots)
        {
            options.CertificateChainPolicy =
                new X509ChainPolicy { TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck };
            options.CertificateChainPolicy.CustomTrustStore.AddRange(roots);
        }
        try
        {
            await StepAsync(
                _server, _time, "the TLS handshake", _server.CommandTimeout, step => tls.AuthenticateAsClientAsync(options, step),
                cancellationToken);
        }
        catch (AuthenticationException e)
        {
            throw new StoreRefusedException(
                $"no TLS connection to the mail server {_server}: its certificate is not trusted or not for that name, or the port speaks "
                + "no TLS; check host, port and tls in HIBP_MAIL", e);
        }
    }

    /// <summary>Writes the message with every leading period doubled (RFC 5321, 4.5.2).</summary>
    private async Task WriteMessageAsync(ReadOnlyMemory<byte> content, CancellationToken cancellationToken)
    {
        var from = 0;
        if (content.Span.StartsWith("."u8))
            await _stream.WriteAsync("."u8.ToArray(), cancellationToken);
        while (content.Span[from..].IndexOf("\n."u8) is >= 0 and var found)
        {
            // Up to and with the period, with which the next piece begins again.
            await _stream.WriteAsync(content.Slice(from, found + 2), cancellationToken);
            from += found + 1;
        }
        await _stream.WriteAsync(content[from..], cancellationToken);
    }

    /// <summary>
    /// Writes the lone period and waits for the answer. From here on the server may have the mail, and not to
    /// know would mean a second copy: cancelling only shortens the wait.
    /// </summary>
    private async Task<SmtpReply> EndMessageAsync(string end, CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        using var last = new CancellationTokenSource(Timeout.InfiniteTimeSpan, _time);
        await using var registration = cancellationToken.Register(() => last.CancelAfter(_server.CancelledMessageTimeout));
        try
        {
            await WriteAsync(end, "the message", last.Token);
            return await ReadAsync("the message", _server.MessageTimeout, last.Token);
        }
        catch (OperationCanceledException e)
        {
            throw new OperationCanceledException(e.Message, e, cancellationToken);
        }
    }

    private async Task<SmtpReply> CommandAsync(string command, string name, CancellationToken cancellationToken)
    {
        // The callers' values were checked; a line end here would be a second command.
        if (command.AsSpan().ContainsAny('\r', '\n'))
            throw new InvalidOperationException($"a line end in the command {name}");
        await WriteAsync(command + "\r\n", name, cancellationToken);
        return await ReadAsync(name, _server.CommandTimeout, cancellationToken);
    }

    private Task WriteAsync(string text, string name, CancellationToken cancellationToken) =>
        StepAsync(
            _server, _time, name, _server.CommandTimeout, async step => await _stream.WriteAsync(Encoding.ASCII.GetBytes(text), step),
            cancellationToken);

    private async Task<SmtpReply> ReadAsync(string name, TimeSpan limit, CancellationToken cancellationToken)
    {
        SmtpReply? reply = null;
        await StepAsync(_server, _time, name, limit, async step => reply = await ReadReplyAsync(name, step), cancellationToken);
        LastUse = _time.GetTimestamp();
        // 421 may answer anything: the server is closing the connection.
        return reply!.Code != 421
            ? reply : throw new StoreUnavailableException($"the mail server {_server} closed the connection at {name}: {reply.Codes}");
    }

    private async Task<SmtpReply> ReadReplyAsync(string name, CancellationToken cancellationToken)
    {
        var lines = new List<string>();
        while (lines.Count < MaxReplyLines)
        {
            var line = await ReadLineAsync(name, cancellationToken);
            if (line.Length < 3 || line[0] is < '2' or > '5'
                || !int.TryParse(line.AsSpan(0, 3), System.Globalization.NumberStyles.None, provider: null, out var code)
                || line.Length > 3 && line[3] is not (' ' or '-'))
                throw NotSmtp(name);
            lines.Add(line.Length > 4 ? line[4..] : "");
            if (line.Length == 3 || line[3] == ' ')
                return new SmtpReply(code, lines);
        }
        throw NotSmtp(name);
    }

    private async Task<string> ReadLineAsync(string name, CancellationToken cancellationToken)
    {
        while (true)
        {
            var length = _received.AsSpan(_start, _end - _start).IndexOf((byte)'\n');
            if (length >= 0)
            {
                var line = Encoding.Latin1.GetString(_received, _start, length).TrimEnd('\r');
                _start += length + 1;
                return line;
            }
            if (_start > 0)
            {
                _received.AsSpan(_start, _end - _start).CopyTo(_received);
                _end -= _start;
                _start = 0;
            }
            if (_end == _received.Length)
                throw NotSmtp(name);
            var read = await _stream.ReadAsync(_received.AsMemory(_end), cancellationToken);
            if (read == 0)
                throw new StoreUnavailableException($"the mail server {_server} dropped the connection at {name}");
            _end += read;
        }
    }

    private static string Base64(string text) => Convert.ToBase64String(Encoding.UTF8.GetBytes(text));

    private StoreUnavailableException NotSmtp(string name) =>
        new($"the mail server {_server} answered {name} with something that is no SMTP; check host, port and tls in HIBP_MAIL");

    private HibpException Refused(string what, SmtpReply reply, bool isRecipients) => reply switch
    {
        { Code: >= 400 and < 500 } when isRecipients =>
            new RecipientDeferredException($"the mail server {_server} does not take {what} now: {reply.Codes}"),
        { IsPermanent: false } => new StoreUnavailableException($"the mail server {_server} does not take {what} now: {reply.Codes}"),
        // Unknown command, wrong order, login needed: no recipient's fault, whatever the step was.
        { Code: 500 or 502 or 503 or 504 or 530 or 534 or 535 or 538 } => SetUp(what, reply),
        _ => isRecipients ? new BadInputException($"the mail server {_server} refused {what} for good: {reply.Codes}") : SetUp(what, reply),
    };

    private StoreRefusedException SetUp(string what, SmtpReply reply) =>
        new($"the mail server {_server} refused {what}: {reply.Codes}; check HIBP_MAIL and HIBP_MAIL_FROM");

    private static async Task StepAsync(
        SmtpServer server, TimeProvider time, string name, TimeSpan limit, Func<CancellationToken, Task> work,
        CancellationToken cancellationToken)
    {
        using var timeout = new CancellationTokenSource(limit, time);
        using var both = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, timeout.Token);
        try
        {
            await work(both.Token);
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            throw new StoreUnavailableException($"the mail server {server} gave no answer to {name} within {limit.TotalSeconds:0.###} s");
        }
        catch (OperationCanceledException)
        {
            throw new OperationCanceledException(cancellationToken);
        }
        catch (Exception e) when (e is IOException or SocketException)
        {
            var code = (e as SocketException ?? e.InnerException as SocketException)?.SocketErrorCode;
            throw new StoreUnavailableException(
                $"the connection to the mail server {server} failed at {name}{(code is null ? "" : $": {code}")}", e);
        }
    }
}
