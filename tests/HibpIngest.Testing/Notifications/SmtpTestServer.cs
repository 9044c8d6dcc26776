using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;

namespace HibpIngest.Testing;

/// <summary>
/// A mail server on a free port of 127.0.0.1 that keeps the mails it receives. It follows SMTP unless <see
/// cref="Script"/> says otherwise, and checks that the client does: command order, CRLF line ends, lines of at most
/// 1,000 bytes.
/// </summary>
public sealed class SmtpTestServer : IAsyncDisposable
{
    private readonly LoopbackListener _listener;
    private int _count;
    private int _open;
    private int _mostOpen;

    public SmtpTestServer() => _listener = new LoopbackListener(ServeAsync);

    public int Port => _listener.Port;

    /// <summary>The value for HIBP_MAIL.</summary>
    public string Setting => $"smtp://127.0.0.1:{Port}?tls=none";

    /// <summary>Needed for TLS: STARTTLS is then offered or, with <see cref="ImplicitTls"/>, TLS is used from the first byte.</summary>
    public X509Certificate2? Certificate { get; init; }

    public bool ImplicitTls { get; init; }

    /// <summary>The required login; null: none.</summary>
    public (string User, string Password)? Login { get; init; }

    public string Logins { get; init; } = "PLAIN LOGIN";

    public string[] Extensions { get; init; } = [];

    /// <summary>
    /// Replaces the normal response to a step; null keeps it. Steps are "greeting", "tls" (before the handshake), the
    /// commands' first words in upper case, and "." for the end of a message.
    /// </summary>
    public Func<SmtpStep, SmtpAnswer?>? Script { get; set; }

    public ConcurrentQueue<ReceivedMail> Mails { get; } = new();

    /// <summary>All command lines received, with "." for the end of a message.</summary>
    public ConcurrentQueue<string> Commands { get; } = new();

    public ConcurrentQueue<string> Offences { get; } = new();

    public int Connections => Volatile.Read(ref _count);

    public int MaxAtOnce => Volatile.Read(ref _mostOpen);

    /// <summary>Creates a self-signed certificate for localhost and 127.0.0.1.</summary>
    public static X509Certificate2 CreateCertificate(string name = "localhost")
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName(name);
        if (name == "localhost")
            names.AddIpAddress(IPAddress.Loopback);
        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(
            new X509BasicConstraintsExtension(certificateAuthority: true, hasPathLengthConstraint: false, 0, critical: true));
        var now = TimeProvider.System.GetUtcNow();
        return request.CreateSelfSigned(now.AddDays(-1), now.AddDays(1));
    }

    public ValueTask DisposeAsync() => _listener.DisposeAsync();

    private async Task ServeAsync(TcpClient client, CancellationToken stopping)
    {
        var open = Interlocked.Increment(ref _open);
        for (int seen; (seen = Volatile.Read(ref _mostOpen)) < open && Interlocked.CompareExchange(ref _mostOpen, open, seen) != seen;)
        {
        }
        try
        {
            await new Session(this, Interlocked.Increment(ref _count), client.GetStream()).RunAsync(stopping);
        }
        finally
        {
            client.Close();
            Interlocked.Decrement(ref _open);
        }
    }

    private sealed class Session(SmtpTestServer server, int number, Stream raw)
    {
        private readonly List<byte> _line = [];
        private readonly byte[] _buffer = new byte[4096];
        private Stream _stream = raw;
        private int _at;
        private int _end;
        private bool _secure;
        private string? _user;
        private string? _from;
        private string? _to;

        public async Task RunAsync(CancellationToken cancellationToken)
        {
            if (server.ImplicitTls && !await EncryptAsync(cancellationToken))
                return;
            if (!await AnswerAsync("greeting", "", "220 test ESMTP\r\n", cancellationToken))
                return;
            while (await ReadLineAsync(cancellationToken) is { } line)
            {
                server.Commands.Enqueue(line);
                var verb = line.Split(' ', ':')[0].ToUpperInvariant();
                var proper = await ActAsync(verb, line, cancellationToken);
                if (!await AnswerAsync(verb, line, proper, cancellationToken))
                    return;
                if (verb == "QUIT")
                    return;
                if (verb == "STARTTLS" && !await EncryptAsync(cancellationToken))
                    return;
                if (verb == "DATA" && _dataAsked && !await ReceiveAsync(cancellationToken))
                    return;
            }
        }

        private bool _dataAsked;

        private Task<string> ActAsync(string verb, string line, CancellationToken cancellationToken) => verb switch
        {
            "EHLO" => Task.FromResult(Hello()),
            "STARTTLS" => Task.FromResult("220 go ahead\r\n"),
            "AUTH" => LogInAsync(line, cancellationToken),
            "MAIL" => Task.FromResult(From(line)),
            "RCPT" => Task.FromResult(To(line)),
            "DATA" => Task.FromResult(_to is null ? "503 5.5.1 no recipient\r\n" : "354 go on\r\n"),
            "RSET" => Task.FromResult(Reset()),
            "NOOP" => Task.FromResult("250 ok\r\n"),
            "QUIT" => Task.FromResult("221 bye\r\n"),
            _ => Task.FromResult("500 5.5.2 what?\r\n"),
        };

        private string Hello()
        {
            Reset();
            var lines = new List<string> { "test greets you" };
            if (server.Certificate is not null && !_secure)
                lines.Add("STARTTLS");
            if (server.Login is not null)
                lines.Add($"AUTH {server.Logins}");
            lines.AddRange(server.Extensions);
            lines.Add("8BITMIME");
            return string.Concat(lines.Select((line, i) => $"250{(i == lines.Count - 1 ? ' ' : '-')}{line}\r\n"));
        }

        private string Reset()
        {
            _from = _to = null;
            return "250 2.0.0 ok\r\n";
        }

        private string From(string line)
        {
            if (server.Login is not null && _user is null)
                return "530 5.7.0 log in first\r\n";
            if (_from is not null)
                return "503 5.5.1 nested MAIL\r\n";
            _from = Between(line);
            return "250 2.1.0 ok\r\n";
        }

        private string To(string line)
        {
            if (_from is null)
                return "503 5.5.1 no sender\r\n";
            _to = Between(line);
            return "250 2.1.5 ok\r\n";
        }

        private async Task<string> LogInAsync(string line, CancellationToken cancellationToken)
        {
            string user, password;
            if (line.StartsWith("AUTH PLAIN ", StringComparison.Ordinal))
            {
                var parts = Decode(line["AUTH PLAIN ".Length..]).Split('\0');
                (user, password) = (parts[1], parts[2]);
            }
            else
            {
                await WriteAsync("334 VXNlcm5hbWU6\r\n", cancellationToken);
                user = Decode(await ReadLineAsync(cancellationToken) ?? "");
                await WriteAsync("334 UGFzc3dvcmQ6\r\n", cancellationToken);
                password = Decode(await ReadLineAsync(cancellationToken) ?? "");
            }
            if (server.Login != (user, password))
                return "535 5.7.8 no\r\n";
            _user = user;
            return "235 2.7.0 welcome\r\n";
        }

        private async Task<bool> ReceiveAsync(CancellationToken cancellationToken)
        {
            var content = new List<byte>();
            while (await ReadLineAsync(cancellationToken) is { } line)
            {
                if (line != ".")
                {
                    content.AddRange(Encoding.Latin1.GetBytes(line.StartsWith('.') ? line[1..] : line));
                    content.AddRange("\r\n"u8);
                    continue;
                }
                server.Commands.Enqueue(".");
                var mail = new ReceivedMail(_from!, _to!, [.. content], number, _secure, _user);
                var answer = server.Script?.Invoke(new SmtpStep(number, ".", _to!));
                if (answer is null || answer.Takes)
                    server.Mails.Enqueue(mail);
                Reset();
                return await GiveAsync(answer, "250 2.0.0 queued\r\n", cancellationToken);
            }
            return false;
        }

        private async Task<bool> EncryptAsync(CancellationToken cancellationToken)
        {
            // Once the client's hello has arrived, the client waits for the handshake and no longer for the response before it.
            if (await _stream.ReadAsync(Memory<byte>.Empty, cancellationToken) != 0)
                throw new InvalidOperationException("nothing was asked for, only whether there is something");
            if (server.Script?.Invoke(new SmtpStep(number, "tls", "")) is { } answer && !await GiveAsync(answer, "", cancellationToken))
                return false;
            var tls = new SslStream(_stream);
            await tls.AuthenticateAsServerAsync(
                new SslServerAuthenticationOptions { ServerCertificate = server.Certificate! }, cancellationToken);
            if (_at < _end)
                server.Offences.Enqueue("the client sent more before the handshake");
            _stream = tls;
            _secure = true;
            _at = _end = 0;
            return true;
        }

        private async Task<bool> AnswerAsync(string step, string line, string proper, CancellationToken cancellationToken)
        {
            var answer = server.Script?.Invoke(new SmtpStep(number, step, line));
            _dataAsked = (answer?.Text ?? proper).StartsWith("354", StringComparison.Ordinal);
            return await GiveAsync(answer, proper, cancellationToken);
        }

        /// <summary>Returns false if the connection must be closed.</summary>
        private async Task<bool> GiveAsync(SmtpAnswer? answer, string proper, CancellationToken cancellationToken)
        {
            if (answer is { Silent: true })
                await Task.Delay(Timeout.Infinite, cancellationToken);
            if ((answer?.Text ?? (answer is { Drops: true } ? "" : proper)) is { Length: > 0 } text)
                await WriteAsync(text, cancellationToken);
            return answer is not { Drops: true };
        }

        private async Task WriteAsync(string text, CancellationToken cancellationToken)
        {
            await _stream.WriteAsync(Encoding.Latin1.GetBytes(text), cancellationToken);
            await _stream.FlushAsync(cancellationToken);
        }

        private async Task<string?> ReadLineAsync(CancellationToken cancellationToken)
        {
            _line.Clear();
            while (true)
            {
                if (_at == _end)
                {
                    _at = 0;
                    _end = await _stream.ReadAsync(_buffer, cancellationToken);
                    if (_end == 0)
                        return null;
                }
                var value = _buffer[_at++];
                if (value != '\n')
                {
                    _line.Add(value);
                    continue;
                }
                if (_line.Count == 0 || _line[^1] != '\r')
                    server.Offences.Enqueue("a line end without CR");
                else
                    _line.RemoveAt(_line.Count - 1);
                if (_line.Count > 998 || _line.Contains((byte)'\r'))
                    server.Offences.Enqueue("a line too long or with a lone CR");
                return Encoding.Latin1.GetString([.. _line]);
            }
        }

        private static string Between(string line)
        {
            var open = line.IndexOf('<');
            return line[(open + 1)..line.IndexOf('>', open)];
        }

        private static string Decode(string base64) => Encoding.UTF8.GetString(Convert.FromBase64String(base64));
    }
}

/// <summary>A step of a session: the connection's 1-based number, the step, and the command line or (at ".") the recipient.</summary>
public sealed record SmtpStep(int Session, string Name, string Line);

public sealed record SmtpAnswer
{
    /// <summary>Sent verbatim; null: the normal response.</summary>
    public string? Text { get; private init; }

    public bool Drops { get; private init; }

    public bool Silent { get; private init; }

    /// <summary>At ".": accepts the mail, whether or not the client gets a response.</summary>
    public bool Takes { get; private init; }

    /// <summary>Responds with this line; the line end is added.</summary>
    public static SmtpAnswer Say(string line) => Raw(line + "\r\n");

    public static SmtpAnswer Raw(string text) => new() { Text = text, Takes = text.StartsWith('2') };

    /// <summary>Closes the connection, optionally after a last line.</summary>
    public static SmtpAnswer Drop(string? line = null) =>
        new() { Text = line is null ? null : line + "\r\n", Drops = true, Takes = line?.StartsWith('2') == true };

    public static SmtpAnswer TakeAndDrop => new() { Drops = true, Takes = true };

    public static SmtpAnswer Silence => new() { Silent = true };

    public static SmtpAnswer TakeInSilence => new() { Silent = true, Takes = true };
}

/// <param name="From">Envelope sender.</param>
/// <param name="To">Envelope recipient.</param>
/// <param name="Content">The message with dot-stuffing undone.</param>
public sealed record ReceivedMail(string From, string To, byte[] Content, int Session, bool IsSecure, string? User);
